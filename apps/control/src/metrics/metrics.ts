import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type LabelsOf, type MetricName } from './catalogue.js';

/** Upper bounds in seconds: from a read file to the longest deadline. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

type OfType<Type> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[MetricName];

/** Says what a metric's value is for one choice of its labels. */
export type Report<Name extends MetricName> = (labels: LabelsOf<Name>, value: number) => void;

/** What the program counts, in the words of the catalogue; one for the process. */
export class Metrics {
  private readonly registry = new Registry();
  private readonly counters = new Map<MetricName, Counter>();
  private readonly gauges = new Map<MetricName, Gauge>();
  private readonly histograms = new Map<MetricName, Histogram>();
  private readonly totals = new Set<Counter>();
  private readonly sources: (() => void)[] = [];

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    for (const [name, { type, help, labels }] of Object.entries(METRICS)) {
      const options = { name, help, labelNames: Object.keys(labels), registers: [this.registry] };
      if (type === 'counter') this.counters.set(name as MetricName, new Counter(options));
      else if (type === 'gauge') this.gauges.set(name as MetricName, unknownYet(new Gauge(options)));
      else this.histograms.set(name as MetricName, new Histogram({ ...options, buckets: BUCKETS }));
    }
  }

  /** Adds to a counter. */
  count<Name extends OfType<'counter'>>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.counters.get(name)?.inc(labels, by);
  }

  /** Adds a duration, in seconds. */
  observe<Name extends OfType<'histogram'>>(name: Name, labels: LabelsOf<Name>, seconds: number): void {
    this.histograms.get(name)?.observe(labels, seconds);
  }

  /** Asks `source` at each scrape for what stands elsewhere: a gauge's values, or the totals of a counter. */
  read<Name extends OfType<'counter' | 'gauge'>>(name: Name, source: (report: Report<Name>) => void): void {
    const gauge = this.gauges.get(name);
    const total = this.counters.get(name);
    if (total) this.totals.add(total);
    this.sources.push(() => {
      source((labels, value) => {
        gauge?.set(labels, value);
        total?.inc(labels, value);
      });
    });
  }

  /** All of it in the text format of Prometheus. */
  exposition(): Promise<string> {
    // A total that stands elsewhere is set, not added to.
    for (const total of this.totals) total.reset();
    for (const source of this.sources) source();
    return this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}

/** A gauge that nobody reports is absent, not 0. */
function unknownYet(gauge: Gauge): Gauge {
  gauge.remove({});
  return gauge;
}
