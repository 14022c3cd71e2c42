import { sha256Hex } from '../text/digest.js';
import { refusal, type Refuse } from '../refusal.js';
import { identifier } from '../text/text.js';

const DOMAIN = 'qinglong/worker-log-artifact@v1';
const PARTS = ['projectId', 'runId', 'attemptId', 'offerId'] as const;

const refuse: Refuse = refusal('LOG_ARTIFACT_INVALID');

/**
 * The id of the log of one claim: the same claim always names the same artefact.
 * @throws ValiseError LOG_ARTIFACT_INVALID
 */
export function logArtifactId(claim: Readonly<Record<(typeof PARTS)[number], string>>): string {
  const parts = PARTS.map((part) => `\0${identifier(claim[part], part, refuse)}`);
  return `wlog-${sha256Hex(DOMAIN, ...parts).slice(0, 30)}`;
}
