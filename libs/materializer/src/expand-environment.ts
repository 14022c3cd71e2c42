import {
  environmentNameBreach,
  readEnvironmentBundle,
  refusedNameClass,
  type DeliveredMaterial,
  type ExecutionRevision,
  type OpenBundle,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { EnvironmentBudget } from './environment-budget.js';

export interface EnvironmentSource {
  /** As the execution revision declares them, in its order. */
  readonly bindings: ExecutionRevision['environment'];
  /** What was delivered: every declared reference once, and at most one bundle. */
  readonly material: DeliveredMaterial;
  /** Names that the operator lets through although the name policy refuses them. */
  readonly allowedNames: ReadonlySet<string>;
}

export interface ExpandedEntry {
  readonly name: string;
  readonly value: Uint8Array;
}

export interface ExpandedEnvironment {
  /** Bindings first, in their order; the bundle after them, in canonical order. Values of secrets are views into the material. */
  readonly entries: readonly ExpandedEntry[];
  /** Zeroes every value that came out of the bundle. The material stays its owner's to zero. */
  wipe(): void;
}

/**
 * Makes one flat environment: declared bindings with their delivered values, then the bundle. Whole or not at all;
 * nothing is trimmed, renamed, overridden or dropped.
 * @throws ValiseError environment_name_conflict, environment_name_refused (with the class), environment_budget_exceeded,
 * or secret_response_invalid when the material is not exactly what the bindings need; facts never hold a name
 */
export function expandEnvironment({
  bindings,
  material,
  allowedNames,
}: EnvironmentSource): ExpandedEnvironment {
  const bundle = openBundle(material);
  try {
    const environment = new Environment(allowedNames);
    for (const [index, entry] of boundEntries(bindings, material).entries()) {
      environment.add(entry, { source: 'binding', index });
    }
    for (const [index, entry] of (bundle?.entries ?? []).entries()) {
      environment.add(entry, { source: 'bundle', index });
    }
    return { entries: environment.entries, wipe: () => bundle?.wipe() };
  } catch (error) {
    bundle?.wipe();
    throw error;
  }
}

interface Origin {
  readonly [fact: string]: string | number;
  readonly source: 'binding' | 'bundle';
  readonly index: number;
}

class Environment {
  readonly entries: ExpandedEntry[] = [];
  readonly #names = new Set<string>();
  readonly #budget = new EnvironmentBudget();

  constructor(private readonly allowedNames: ReadonlySet<string>) {}

  add(entry: ExpandedEntry, origin: Origin): void {
    this.#assertName(entry.name, origin);
    this.#budget.take(entry.name, entry.value);
    this.#names.add(entry.name);
    this.entries.push(entry);
  }

  #assertName(name: string, origin: Origin): void {
    const refused =
      environmentNameBreach(name) ?? (this.allowedNames.has(name) ? null : refusedNameClass(name));
    if (refused) throw new ValiseError('environment_name_refused', { class: refused, ...origin });
    if (this.#names.has(name)) throw new ValiseError('environment_name_conflict', { ...origin });
  }
}

/** Each binding with its bytes. Every delivered reference must be one that a binding names. */
function boundEntries(
  bindings: EnvironmentSource['bindings'],
  { values }: DeliveredMaterial,
): readonly ExpandedEntry[] {
  const delivered = new Map(values.map(({ secretRef, value }) => [secretRef, value]));
  const used = new Set<string>();
  const entries = bindings.map((binding, index) => {
    if (binding.kind === 'public') return { name: binding.name, value: Buffer.from(binding.value, 'utf8') };
    const value = delivered.get(binding.secretRef);
    if (!value) throw new ValiseError('secret_response_invalid', { rule: 'missing_value', index });
    used.add(binding.secretRef);
    return { name: binding.name, value };
  });
  if (used.size !== values.length) {
    throw new ValiseError('secret_response_invalid', {
      rule: 'value_not_asked_for',
      limit: used.size,
      actual: values.length,
    });
  }
  return entries;
}

/** The carrier is opened bytewise; what is wrong with it is a fault of the delivery, not of the task. */
function openBundle({ environmentBundles }: DeliveredMaterial): OpenBundle | null {
  const [carrier, ...more] = environmentBundles;
  if (more.length > 0) throw new ValiseError('secret_response_invalid', { rule: 'one_bundle' });
  if (!carrier) return null;
  try {
    return readEnvironmentBundle(carrier.value);
  } catch (error) {
    if (!(error instanceof ValiseError)) throw error;
    throw new ValiseError('secret_response_invalid', { ...error.facts, document: 'environment_bundle' });
  }
}
