import type { WorkerConfig } from '../config/worker-config.js';
import { brokenRule, ok, type Finding } from './finding.js';
import { examineHost } from './host.js';
import { examineIdentity } from './identity.js';
import { examineIsolation } from './isolation.js';
import { examineReachability } from './reachability.js';
import { examineStateDirectory } from './state-directory.js';

/** What a worker would meet if it started now with the settings that `read` gives. No worker and no task is started, nothing locked or written. */
export async function examine(read: () => WorkerConfig, isOffline: boolean): Promise<Finding[]> {
  const host = examineHost();
  const config = configured(read);
  if ('grade' in config) return [...host, config];
  const { identity, findings } = await examineIdentity(config);
  return [
    ...host,
    ok('settings', 'are complete'),
    ...(await examineIsolation(config)),
    ...examineStateDirectory(config),
    ...findings,
    ...(identity && !isOffline ? [await examineReachability(config.controlUrl, identity)] : []),
  ];
}

function configured(read: () => WorkerConfig): WorkerConfig | Finding {
  try {
    return read();
  } catch (error) {
    return brokenRule('settings', error);
  }
}

const GRADE_WIDTH = 8;

/** A line for each finding. */
export const textOf = (findings: readonly Finding[]): string =>
  findings
    .map(({ grade, subject, sentence }) => `${grade.padEnd(GRADE_WIDTH)} ${subject}: ${sentence}\n`)
    .join('');

/** Whether a worker would start and do its work. */
export const isFit = (findings: readonly Finding[]): boolean =>
  findings.every(({ grade }) => grade !== 'problem');
