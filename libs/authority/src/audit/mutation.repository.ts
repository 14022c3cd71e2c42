import { Injectable } from '@nestjs/common';
import type { Tx } from '../database/tx.js';
import type { Mutation, MutationKind } from './mutation.js';

interface MutationRow {
  project_id: string;
  mutation_id: string;
  kind: MutationKind;
  content_digest: string;
  subject_id: string;
  result: number | null;
}

/** The append-only uses of mutation ids. */
@Injectable()
export class MutationRepository {
  async find(tx: Tx, projectId: string, mutationId: string): Promise<Mutation | null> {
    const [row] = await tx.query<MutationRow>(
      `SELECT project_id, mutation_id, kind, content_digest, subject_id, result
         FROM mutations WHERE project_id = $1 AND mutation_id = $2`,
      [projectId, mutationId],
    );
    if (!row) return null;
    return {
      projectId: row.project_id,
      mutationId: row.mutation_id,
      kind: row.kind,
      contentDigest: row.content_digest,
      subjectId: row.subject_id,
      result: row.result,
    };
  }

  /** Takes the id, waiting for a transaction that is taking it; false when it is taken. */
  async append(tx: Tx, mutation: Mutation): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO mutations (project_id, mutation_id, kind, content_digest, subject_id, result, applied_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, clock_ms()) ON CONFLICT DO NOTHING RETURNING true AS taken`,
      [
        mutation.projectId,
        mutation.mutationId,
        mutation.kind,
        mutation.contentDigest,
        mutation.subjectId,
        mutation.result,
      ],
    );
    return rows.length > 0;
  }
}
