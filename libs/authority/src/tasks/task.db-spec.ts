import { randomUUID } from 'node:crypto';
import { useDatabase } from '../../../../test/support/postgres.js';
import {
  BUNDLE,
  OPERATOR,
  plainSpec,
  PROJECT,
  publication,
  SECRET,
} from '../../../../test/support/published-task.js';
import { codeOf, refusal } from '../../../../test/support/refusal.js';
import { useWorld } from '../../../../test/support/world.js';

const database = useDatabase();
const world = useWorld(database);
const newTask = () => `task-${randomUUID()}`;

describe('publishing', () => {
  it('appends a definition and an execution revision, and moves the head', async () => {
    const taskId = newTask();
    const first = await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    expect(first).toMatchObject({ outcome: 'published', revision: 1 });
    const next = publication({ expectedRevision: 1, name: 'Renamed' });
    const second = await world().tasks.publish(OPERATOR, PROJECT, taskId, next);
    expect(second).toMatchObject({ outcome: 'published', revision: 2, createdAtMs: first.createdAtMs });
    expect(second).toMatchObject(await world().tasks.get(PROJECT, taskId));
    const rows = await database().query(
      `SELECT revision, secret_refs, environment_bundle_refs FROM task_execution_revisions
        WHERE task_id = $1 ORDER BY revision`,
      [taskId],
    );
    const references = { secret_refs: [SECRET], environment_bundle_refs: [BUNDLE] };
    expect(rows).toEqual([
      { revision: 1, ...references },
      { revision: 2, ...references },
    ]);
    const audit = await database().query('SELECT action FROM audit_events WHERE subject_id = $1', [taskId]);
    expect(audit).toHaveLength(2);
  });

  it('stores the plan as the text that its digest covers', async () => {
    const taskId = newTask();
    const { executionDigest } = await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    const [row] = await database().query<{ digest: string }>(
      `SELECT encode(sha256('qinglong.cluster-task-execution-revision.v1'::bytea || '\\x00'::bytea
                || convert_to(plan_json, 'UTF8')), 'hex') AS digest
         FROM task_execution_revisions WHERE task_id = $1`,
      [taskId],
    );
    expect(row?.digest).toBe(executionDigest);
  });

  it('is answered as a replay when it is repeated, also after later revisions', async () => {
    const taskId = newTask();
    const request = publication();
    const first = await world().tasks.publish(OPERATOR, PROJECT, taskId, request);
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication({ expectedRevision: 1 }));
    const before = await world().snapshot();
    expect(await world().tasks.publish(OPERATOR, PROJECT, taskId, request)).toEqual(
      Object.assign(first, { outcome: 'replayed' }),
    );
    expect(await world().snapshot()).toEqual(before);
  });

  it('is one publication when it arrives many times at the same moment', async () => {
    const taskId = newTask();
    const request = publication();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => world().tasks.publish(OPERATOR, PROJECT, taskId, request)),
    );
    expect(answers.filter(({ outcome }) => outcome === 'published')).toHaveLength(1);
    expect(new Set(answers.map(({ contentDigest }) => contentDigest)).size).toBe(1);
  });

  it('has one winner among different publications of the same revision', async () => {
    const taskId = newTask();
    const codes = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        codeOf(world().tasks.publish(OPERATOR, PROJECT, taskId, publication({ name: `Task ${index}` }))),
      ),
    );
    expect(codes.filter((code) => code === 'no refusal')).toHaveLength(1);
    expect(codes.filter((code) => code === 'revision_conflict')).toHaveLength(5);
  });

  it('is refused with another revision than the current one', async () => {
    const taskId = newTask();
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    for (const expectedRevision of [null, 2]) {
      const request = publication({ expectedRevision });
      expect(await refusal(world(), () => world().tasks.publish(OPERATOR, PROJECT, taskId, request))).toBe(
        'revision_conflict',
      );
    }
  });

  it('is refused when its mutation id was used for something else', async () => {
    const taskId = newTask();
    const request = publication();
    await world().tasks.publish(OPERATOR, PROJECT, taskId, request);
    const other = { ...request, name: 'Another' };
    expect(await refusal(world(), () => world().tasks.publish(OPERATOR, PROJECT, taskId, other))).toBe(
      'mutation_conflict',
    );
    expect(await refusal(world(), () => world().tasks.publish(OPERATOR, PROJECT, newTask(), request))).toBe(
      'mutation_conflict',
    );
  });

  it('is refused when the documents refuse it', async () => {
    const unpinned = plainSpec({ environmentBundleRef: SECRET });
    expect(
      await refusal(world(), async () =>
        world().tasks.publish(OPERATOR, PROJECT, newTask(), publication({ spec: unpinned })),
      ),
    ).toBe('TASK_SPEC_SEMANTIC_INVALID');
  });

  it.each(['public', 'secret'])(
    'is refused when a %s binding would change how programs are loaded',
    async (kind) => {
      const name = 'LD_PRELOAD';
      const binding =
        kind === 'public' ? { name, kind, value: '/tmp/x.so' } : { name, kind, secretRef: SECRET };
      const request = publication({ spec: plainSpec({ environment: [binding] }) });
      const publish = () => world().tasks.publish(OPERATOR, PROJECT, newTask(), request);
      expect(await refusal(world(), async () => publish())).toBe('TASK_SPEC_SEMANTIC_INVALID');
    },
  );

  it('of a disabled task leaves nothing to execute', async () => {
    const taskId = newTask();
    const view = await world().tasks.publish(OPERATOR, PROJECT, taskId, publication({ enabled: false }));
    expect(view).not.toHaveProperty('executionDigest');
    const start = () => world().runs.start(OPERATOR, PROJECT, taskId, { mutationId: randomUUID() });
    expect(await refusal(world(), start)).toBe('task_disabled');
  });

  it('is not found in another project', async () => {
    const taskId = newTask();
    await world().tasks.publish(OPERATOR, PROJECT, taskId, publication());
    expect(await codeOf(world().tasks.get('another', taskId))).toBe('not_found');
  });
});
