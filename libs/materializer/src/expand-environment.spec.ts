import { createSecretReference, type ExecutionRevision } from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import { expandEnvironment, type EnvironmentSource } from './expand-environment.js';

type Bindings = ExecutionRevision['environment'];

const reference = (name: string): string => createSecretReference({ projectId: 'p', name, version: 1 });
const delivered = (name: string, value: string) => ({
  secretRef: reference(name),
  value: Buffer.from(value),
});
const bundle = (...entries: [name: string, value: string][]) => ({
  secretRef: reference('bundle'),
  value: Buffer.from(
    JSON.stringify({
      schema: 'qinglong/environment-bundle@v1',
      entries: entries.map(([name, value]) => ({ name, value })),
    }),
  ),
});
const source = (
  bindings: Bindings,
  values: EnvironmentSource['material']['values'] = [],
  bundles: EnvironmentSource['material']['environmentBundles'] = [],
): EnvironmentSource => ({
  bindings,
  material: { values, environmentBundles: bundles },
  allowedNames: new Set(),
});
const visible = (name: string, value = 'v'): Bindings[number] => ({ name, kind: 'public', value });

function expanded(input: EnvironmentSource): [string, string][] {
  const { entries } = expandEnvironment(input);
  return entries.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]);
}

function refusal(input: EnvironmentSource): unknown {
  try {
    expandEnvironment(input);
    return null;
  } catch (error) {
    return error instanceof ValiseError ? { code: error.code, ...error.facts } : error;
  }
}

describe('an expanded environment', () => {
  it('has the bindings first, in their order, and the bundle after them', () => {
    const secret = { name: 'A_SECRET', kind: 'secret', secretRef: reference('s') } as const;
    const input = source(
      [visible('Z', '1'), secret],
      [delivered('s', 'x')],
      [bundle(['B', '2'], ['A', '3'])],
    );
    expect(expanded(input)).toEqual([
      ['Z', '1'],
      ['A_SECRET', 'x'],
      ['A', '3'],
      ['B', '2'],
    ]);
  });

  it('gives one delivered value to every binding that names its reference', () => {
    const twice = ['ONE', 'TWO'].map(
      (name) => ({ name, kind: 'secret', secretRef: reference('s') }) as const,
    );
    expect(expanded(source(twice, [delivered('s', 'x')]))).toEqual([
      ['ONE', 'x'],
      ['TWO', 'x'],
    ]);
  });

  it.each(['__proto__', 'constructor', 'toString'])('has %s like any other name', (name) => {
    expect(expanded(source([], [], [bundle([name, 'own'])]))).toEqual([[name, 'own']]);
    expect(expanded(source([visible(name, 'own')]))).toEqual([[name, 'own']]);
  });

  it('keeps an empty value, and every byte of the others', () => {
    const value = ' $HOME `id` "q\' \r\n\t';
    expect(expanded(source([], [], [bundle(['A', ''], ['B', value])]))).toEqual([
      ['A', ''],
      ['B', value],
    ]);
  });

  it('leaves nothing of the bundle once it is wiped', () => {
    const environment = expandEnvironment(source([], [], [bundle(['A', 'canary-value'])]));
    environment.wipe();
    expect(environment.entries[0]!.value.every((byte) => byte === 0)).toBe(true);
  });

  it('is refused when the bundle and a binding have one name', () => {
    expect(refusal(source([visible('TEST')], [], [bundle(['TEST', 'x'])]))).toEqual({
      code: 'environment_name_conflict',
      source: 'bundle',
      index: 0,
    });
  });

  it.each(['1bad', 'bad-key', 'A=B', '', 'A;'])('is refused as a whole with the name "%s"', (name) => {
    const good = ['GOOD', 'x'] as [string, string];
    expect(refusal(source([], [], [bundle(good, [name, 'x'])]))).toMatchObject({
      code: 'secret_response_invalid',
    });
    expect(refusal(source([visible(name)]))).toMatchObject({ code: 'environment_name_refused' });
  });

  it('is refused when one of two alike names is malformed', () => {
    expect(refusal(source([], [], [bundle(['foo_bar', '1'], ['foo-bar', '2'])]))).toMatchObject({
      code: 'secret_response_invalid',
    });
  });

  it.each([
    ['LD_PRELOAD', 'loader'],
    ['NODE_OPTIONS', 'interpreter'],
    ['BASH_ENV', 'shell'],
    ['PYTHONSTARTUP', 'interpreter'],
    ['GIT_SSH_COMMAND', expect.any(String)],
  ])('is refused with %s, in bundle and bindings alike, and says the class', (name, refused) => {
    const expected = { code: 'environment_name_refused', class: refused };
    expect(refusal(source([], [], [bundle([name, 'x'])]))).toMatchObject(expected);
    expect(refusal(source([visible(name)]))).toMatchObject(expected);
  });

  it('has a refused name that the operator allows, with its value', () => {
    const input = {
      ...source([], [], [bundle(['NODE_OPTIONS', 'x'])]),
      allowedNames: new Set(['NODE_OPTIONS']),
    };
    expect(expanded(input)).toEqual([['NODE_OPTIONS', 'x']]);
  });

  it('is refused with a name of the operator, allowed or not', () => {
    const input = { ...source([visible('QL3_RUN_ID')]), allowedNames: new Set(['QL3_RUN_ID']) };
    expect(refusal(input)).toMatchObject({ code: 'environment_name_refused', class: 'reserved' });
    expect(refusal(source([], [], [bundle(['QL3_X', 'x'])]))).toMatchObject({
      code: 'secret_response_invalid',
    });
  });

  it('holds 256 names over bindings and bundle, and not one more', () => {
    const bindings = Array.from({ length: 128 }, (_, index) => visible(`A${index}`));
    const entries = (count: number) =>
      bundle(...Array.from({ length: count }, (_, index): [string, string] => [`B${index}`, '']));
    expect(expanded(source(bindings, [], [entries(128)]))).toHaveLength(256);
    expect(refusal(source(bindings, [], [entries(129)]))).toEqual({
      code: 'environment_budget_exceeded',
      rule: 'names',
      limit: 256,
      actual: 257,
    });
  });

  it('holds 64 KiB of names and values, in bytes, and not one more', () => {
    const parts = ['A', 'B', 'C'].map((name) => visible(name, 'x'.repeat(16_384)));
    const rest = (bytes: number) => bundle(['D', '€'.repeat(10) + 'x'.repeat(bytes - 31)]);
    const left = 65_536 - 3 * 16_385;
    expect(expanded(source(parts, [], [rest(left)]))).toHaveLength(4);
    expect(refusal(source(parts, [], [rest(left + 1)]))).toEqual({
      code: 'environment_budget_exceeded',
      rule: 'total_bytes',
      limit: 65_536,
      actual: 65_537,
    });
  });

  it.each([
    ['a value that a binding needs is missing', [], 'missing_value'],
    [
      'a value is there that no binding names',
      [delivered('s', 'x'), delivered('t', 'y')],
      'value_not_asked_for',
    ],
  ])('is refused when %s', (_, values, rule) => {
    const binding = { name: 'S', kind: 'secret', secretRef: reference('s') } as const;
    expect(refusal(source([binding], values))).toMatchObject({ code: 'secret_response_invalid', rule });
  });

  it('is refused with a carrier that is no bundle, and the refusal quotes nothing of it', () => {
    const carrier = {
      secretRef: reference('bundle'),
      value: Buffer.from('{"schema":"x","entries":[{"name":"A","value":"hunter2-se'),
    };
    const refused = refusal(source([], [], [carrier]));
    expect(refused).toMatchObject({ code: 'secret_response_invalid', document: 'environment_bundle' });
    expect(JSON.stringify(refused)).not.toContain('hunter2');
  });
});
