import { ValiseError } from '../../failure/index.js';
import { readList } from '../json/plain-data.js';
import { refusal, type Refuse } from '../refusal.js';
import { parseSecretReference, type SecretReference } from '../environment/secret-reference.js';

export const SECRET_DELIVERY_SCHEMA = 'qinglong/remote-secret-delivery@v2';

const MAX_SECRETS = 64;
const MAX_BUNDLES = 1;

const refuse: Refuse = refusal('REMOTE_SECRET_DELIVERY_INVALID');

/** The two ordered lists of a delivery: ordinary secrets, and at most one pinned bundle. */
export interface DeliveryReferences {
  readonly secretRefs: readonly string[];
  readonly environmentBundleRefs: readonly string[];
}

/**
 * Passes only a request whose references are canonical, of its own project, unique, disjoint, pinned where they name a
 * bundle, and at least one in all (wire.md §5).
 * @throws ValiseError REMOTE_SECRET_DELIVERY_INVALID
 */
export function assertDeliveryScope(request: DeliveryReferences & { readonly projectId: string }): void {
  const references = readDeliveryReferences(request);
  if (references.length === 0) refuse({ field: 'secretRefs', rule: 'min_items', limit: 1, actual: 0 });
  for (const [index, { projectId }] of references.entries()) {
    if (projectId !== request.projectId) refuse({ field: fieldOf(request, index), rule: 'project' });
  }
}

/** Every reference of a delivery, secrets first: canonical, unique in all, bundles pinned, within the list limits. */
export function readDeliveryReferences(lists: DeliveryReferences): SecretReference[] {
  const secrets = readReferences(lists.secretRefs, MAX_SECRETS, 'secretRefs');
  const bundles = readReferences(lists.environmentBundleRefs, MAX_BUNDLES, 'environmentBundleRefs');
  for (const [index, bundle] of bundles.entries()) {
    if (bundle.version === undefined) refuse({ field: `environmentBundleRefs[${index}]`, rule: 'pinned' });
  }
  const all = [...secrets, ...bundles];
  const texts = all.map(({ text }) => text);
  const repeated = texts.findIndex((text, index) => texts.indexOf(text) !== index);
  if (repeated >= 0) refuse({ field: fieldOf(lists, repeated), rule: 'unique' });
  return all;
}

/** Where the reference stands that has this index in both lists together. */
function fieldOf({ secretRefs }: DeliveryReferences, index: number): string {
  const inBundles = index - secretRefs.length;
  return inBundles < 0 ? `secretRefs[${index}]` : `environmentBundleRefs[${inBundles}]`;
}

function readReferences(list: unknown, max: number, field: string): SecretReference[] {
  return readList(list, max, field, refuse).map((text, index) => {
    try {
      return parseSecretReference(text);
    } catch (error) {
      if (error instanceof ValiseError) refuse({ field: `${field}[${index}]`, rule: 'secret_reference' });
      throw error;
    }
  });
}
