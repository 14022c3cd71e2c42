import fc from 'fast-check';
import { mutated, mutations } from '../../../spec/mutation.js';
import { holds } from '../../../spec/property.js';
import { ValiseError } from '../../failure/index.js';
import { ARCHITECTURES, TIER_OF } from './platform.js';
import { parseCapabilities, writeCapabilities, type WorkerCapabilities } from './worker-capabilities.js';

const words = fc.stringMatching(/^[a-z0-9][a-z0-9._+-]{0,8}$/);
const wordLists = fc.uniqueArray(words, { maxLength: 5 });
const bytes = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

const capabilities: fc.Arbitrary<WorkerCapabilities> = fc
  .record(
    {
      architecture: fc.constantFrom(...ARCHITECTURES),
      executors: wordLists,
      protocolVersion: fc.constantFrom('1.0.0', '1.2.3-beta.1', '2.0.0+build.5'),
      operatingSystem: words,
      runtimes: fc.uniqueArray(fc.record({ name: words, version: fc.constantFrom('20.20.0', '1.0.0-a') }), {
        selector: ({ name }) => name,
        maxLength: 4,
      }),
      labels: fc.dictionary(
        fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,6}$/),
        fc.constantFrom('eu', '€', '"'),
        {
          maxKeys: 4,
          noNullPrototype: true,
        },
      ),
      capacity: fc.record(
        {
          cpuCores: fc.integer({ min: 1, max: 4096 }),
          memoryBytes: bytes,
          gpu: fc.array(fc.record({ vendor: words, memoryBytes: bytes }, { requiredKeys: ['vendor'] }), {
            maxLength: 2,
          }),
        },
        { requiredKeys: [], noNullPrototype: true },
      ),
      features: wordLists,
    },
    { requiredKeys: ['architecture', 'executors', 'protocolVersion'], noNullPrototype: true },
  )
  .map((record) => ({ ...record, supportTier: TIER_OF[record.architecture] }));

describe('the capabilities of a worker', () => {
  it('come back from their canonical text, which is written the same again', () => {
    holds(
      'capabilities/identity',
      fc.property(capabilities, (given) => {
        const text = writeCapabilities(given);
        expect(writeCapabilities(parseCapabilities(text))).toBe(text);
        const reversed = Object.fromEntries(Object.entries(given).reverse()) as unknown as WorkerCapabilities;
        expect(writeCapabilities(reversed)).toBe(text);
      }),
    );
  });

  it('are refused, or canonical again, when one byte of their text changes', () => {
    holds(
      'capabilities/mutation',
      fc.property(capabilities, mutations, (given, mutation) => {
        const changed = mutated(writeCapabilities(given), mutation).toString('utf8');
        try {
          expect(writeCapabilities(parseCapabilities(changed))).toBe(changed);
        } catch (error) {
          if (!(error instanceof ValiseError)) throw error;
          expect(error.code).toBe('WORKER_CAPABILITIES_INVALID');
        }
      }),
    );
  });
});
