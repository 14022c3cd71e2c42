import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/tx.js';
import { CandidateRepository, type Candidate, type QueuedRevision } from './candidate.repository.js';
import type { Matcher } from './matcher.js';
import { Placements } from './placements.js';

const BATCH = 64;

/** The queue as one worker may have it. */
@Injectable()
export class Queue {
  constructor(
    private readonly candidates: CandidateRepository,
    private readonly placements: Placements,
  ) {}

  /**
   * Batches of queued attempts, in order, whose revisions fit the worker: first of the queue's head; then, however many
   * that do not fit stand in front, of all revisions that are queued at all. Another batch comes only if the matcher has
   * refused a revision of the last one. Nothing at all comes of an empty queue.
   */
  async *fitting(tx: Tx, projects: readonly string[], matcher: Matcher): AsyncGenerator<Candidate[]> {
    const fits = ({ executionDigest }: QueuedRevision) => matcher.scoreOf(executionDigest) !== null;
    const head = await this.candidates.listHead(tx, projects, BATCH);
    if (head.length === 0) return;
    await this.judge(tx, head, matcher);
    yield head.filter(fits);
    if (head.length < BATCH) return;
    const revisions = await this.candidates.listRevisions(tx, projects);
    await this.judge(tx, revisions, matcher);
    for (let wanted = revisions.filter(fits), last = 0; wanted.length > 0 && wanted.length !== last;) {
      yield await this.candidates.listOf(tx, wanted, BATCH);
      last = wanted.length;
      wanted = wanted.filter(fits);
    }
  }

  private judge(tx: Tx, revisions: readonly QueuedRevision[], matcher: Matcher): Promise<void> {
    const unknown = new Map(
      revisions
        .filter(({ executionDigest }) => !matcher.knows(executionDigest))
        .map((revision) => [revision.executionDigest, revision]),
    );
    return this.placements.read(tx, [...unknown.values()], (digest, placement) => {
      matcher.judge(digest, placement);
    });
  }
}
