import { ValiseError } from '../../failure/index.js';
import { environmentNameBreach } from './environment-name.js';
import { compareFixed } from '../text/order.js';
import { readList, readPlain, readRecord } from '../json/plain-data.js';
import type { Refuse } from '../refusal.js';
import { parseSecretReference, type SecretReference } from './secret-reference.js';
import { oneOf, text } from '../text/text.js';
import { utf8Bytes } from '../text/utf8.js';

/** One declared variable; keys in the order in which an execution revision writes them. */
export type EnvironmentBinding =
  | { readonly name: string; readonly kind: 'public'; readonly value: string }
  | { readonly name: string; readonly kind: 'secret'; readonly secretRef: string };

/** What a task declares: variables by name, and at most one bundle of which only the reference is known. */
export interface DeclaredEnvironment {
  readonly environment: readonly EnvironmentBinding[];
  readonly environmentBundleRef?: string;
}

const MAX_BINDINGS = 256;
const MAX_VALUE_BYTES = 16 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024;
const MAX_SECRETS = 64;

/**
 * The declared environment of a task of `projectId`: names unique, bindings in the fixed order (wire.md §7),
 * references of the same project, the bundle's pinned and used by no binding.
 */
export function readDeclaredEnvironment(
  bindings: unknown,
  bundleRef: unknown,
  projectId: string,
  refuse: Refuse,
): DeclaredEnvironment {
  const environment = readList(bindings, MAX_BINDINGS, 'environment', refuse).map((binding, index) =>
    readBinding(binding, `environment[${index}]`, projectId, refuse),
  );
  environment.sort((a, b) => compareFixed(a.name, b.name));
  assertBudgets(environment, refuse);
  if (bundleRef === undefined) return { environment };
  const bundle = readProjectReference(bundleRef, projectId, 'environmentBundleRef', refuse);
  if (bundle.version === undefined) refuse({ field: 'environmentBundleRef', rule: 'pinned' });
  if (secretsOf(environment).includes(bundle.text))
    refuse({ field: 'environmentBundleRef', rule: 'disjoint' });
  return { environment, environmentBundleRef: bundle.text };
}

/** The distinct secret references of the bindings, in binding order. */
export function secretsOf(environment: readonly EnvironmentBinding[]): string[] {
  return [
    ...new Set(environment.flatMap((binding) => (binding.kind === 'secret' ? [binding.secretRef] : []))),
  ];
}

/** A canonical reference of the given project. */
export function readProjectReference(
  value: unknown,
  projectId: string,
  field: string,
  refuse: Refuse,
): SecretReference {
  let reference: SecretReference;
  try {
    reference = parseSecretReference(value);
  } catch (error) {
    if (error instanceof ValiseError) refuse({ field, rule: 'secret_reference' });
    throw error;
  }
  if (reference.projectId !== projectId) refuse({ field, rule: 'project' });
  return reference;
}

function readBinding(value: unknown, field: string, projectId: string, refuse: Refuse): EnvironmentBinding {
  const { kind } = readPlain(value, field, refuse);
  if (oneOf(kind, ['public', 'secret'], `${field}.kind`, refuse) === 'public') {
    const record = readRecord(value, ['name', 'kind', 'value'], [], field, refuse);
    const name = readName(record.name, field, refuse);
    return {
      name,
      kind: 'public',
      value: text(record.value, 0, MAX_VALUE_BYTES, `${field}.value`, refuse),
    };
  }
  const record = readRecord(value, ['name', 'kind', 'secretRef'], [], field, refuse);
  const name = readName(record.name, field, refuse);
  const secretRef = readProjectReference(record.secretRef, projectId, `${field}.secretRef`, refuse).text;
  return { name, kind: 'secret', secretRef };
}

function readName(value: unknown, field: string, refuse: Refuse): string {
  if (typeof value !== 'string') refuse({ field: `${field}.name`, rule: 'string' });
  const breach = environmentNameBreach(value);
  if (breach) refuse({ field: `${field}.name`, rule: `name_${breach}` });
  return value;
}

function assertBudgets(environment: readonly EnvironmentBinding[], refuse: Refuse): void {
  const field = 'environment';
  if (new Set(environment.map(({ name }) => name)).size !== environment.length) {
    refuse({ field, rule: 'duplicate_name' });
  }
  let actual = 0;
  for (const binding of environment) {
    actual += binding.name.length + utf8Bytes(binding.kind === 'public' ? binding.value : binding.secretRef);
  }
  if (actual > MAX_TOTAL_BYTES) refuse({ field, rule: 'total_bytes', limit: MAX_TOTAL_BYTES, actual });
  const secrets = secretsOf(environment).length;
  if (secrets > MAX_SECRETS) refuse({ field, rule: 'max_secrets', limit: MAX_SECRETS, actual: secrets });
}
