import { sha256Hex } from '../text/digest.js';
import { refusal, type Refuse } from '../refusal.js';
import { matching } from '../text/text.js';

const SHAPE = /^[A-Za-z0-9_-]{32,128}$/;

const refuse: Refuse = refusal('LEASE_TOKEN_INVALID');

/**
 * What control keeps of a lease token.
 * @throws ValiseError LEASE_TOKEN_INVALID
 */
export function leaseTokenDigest(token: string): string {
  return sha256Hex(matching(token, SHAPE, 'leaseToken', refuse));
}
