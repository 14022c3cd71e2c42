import { Injectable } from '@nestjs/common';
import {
  effectivePlacement,
  normalizePlacement,
  parseJson,
  type Placement,
} from '@valise/contracts/documents';
import { ValiseError } from '@valise/contracts/failure';
import type { Tx } from '../database/tx.js';
import { CandidateRepository, type QueuedRevision } from './candidate.repository.js';

/** Of the texts that the kept placements were read from, in characters. */
const KEPT_TEXT = 32 * 1024 * 1024;
const BATCH = 64;

/**
 * Placements of queued revisions, each read once: a placement is public and never changes under its digest. The least
 * recently asked for are forgotten first.
 */
@Injectable()
export class Placements {
  readonly #kept = new Map<string, { readonly placement: Placement; readonly size: number }>();
  #size = 0;

  constructor(private readonly candidates: CandidateRepository) {}

  /** Calls `judge` with the placement of each revision that still is in the queue; null for one that is damaged. */
  async read(
    tx: Tx,
    revisions: readonly QueuedRevision[],
    judge: (executionDigest: string, placement: Placement | null) => void,
  ): Promise<void> {
    const unknown = revisions.filter(({ executionDigest }) => {
      const known = this.#kept.get(executionDigest);
      if (!known) return true;
      this.#kept.delete(executionDigest);
      this.#kept.set(executionDigest, known);
      judge(executionDigest, known.placement);
      return false;
    });
    for (let at = 0; at < unknown.length; at += BATCH) {
      const read = await this.candidates.readPlacements(tx, unknown.slice(at, at + BATCH));
      for (const { executionDigest, placementJson } of read) {
        const placement = parsePlacement(placementJson);
        // What is damaged may be mended.
        if (placement) this.#keep(executionDigest, placement, placementJson?.length ?? 0);
        judge(executionDigest, placement);
      }
    }
  }

  #keep(executionDigest: string, placement: Placement, length: number): void {
    const size = length + executionDigest.length;
    this.#size += size - (this.#kept.get(executionDigest)?.size ?? 0);
    this.#kept.set(executionDigest, { placement, size });
    for (const [oldest, { size: freed }] of this.#kept) {
      if (this.#size <= KEPT_TEXT) return;
      this.#kept.delete(oldest);
      this.#size -= freed;
    }
  }
}

function parsePlacement(json: string | null): Placement | null {
  try {
    return json === null ? effectivePlacement({}) : normalizePlacement(parseJson(json));
  } catch (error) {
    if (error instanceof ValiseError) return null;
    throw error;
  }
}
