import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ValiseError } from '@valise/contracts/failure';
import { IS_ROOT, TEST_BASE_UID, WorkerUnderTest } from '../../spec/worker-under-test.js';
import { SlotUids } from './slot-uids.js';

const UID = TEST_BASE_UID + 400;
const NOBODY = 65_534;
const SETTING = 'VALISE_SLOT_UID_BASE';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'valise-uids-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function refusal(reserved: Promise<unknown>): Promise<unknown> {
  try {
    await reserved;
    return null;
  } catch (error) {
    return error instanceof ValiseError ? { code: error.code, ...error.facts } : error;
  }
}

const inUse = {
  code: 'configuration_invalid',
  setting: SETTING,
  rule: 'names user ids that another worker of this machine uses',
};

describe('the user ids of slots', () => {
  it('are one worker’s alone, until it releases them', async () => {
    const first = await SlotUids.reserve([UID, UID + 1], directory);
    expect(await refusal(SlotUids.reserve([UID + 1, UID + 2], directory))).toEqual(inUse);
    // The refused one keeps nothing.
    const beside = await SlotUids.reserve([UID + 2], directory);
    await first.release();
    const next = await SlotUids.reserve([UID, UID + 1], directory);
    await Promise.all([beside.release(), next.release()]);
  });

  it('are refused where one belongs to an account', async () => {
    const rule = 'names ids that are listed in /etc/passwd';
    expect(await refusal(SlotUids.reserve([UID, NOBODY], directory))).toMatchObject({
      setting: SETTING,
      rule,
    });
    expect(await readdir(directory)).toEqual([]);
  });

  it('are refused where they cannot be locked', async () => {
    await writeFile(join(directory, 'file'), '');
    expect(await refusal(SlotUids.reserve([UID], join(directory, 'file')))).toMatchObject({
      setting: SETTING,
    });
  });
});

(IS_ROOT ? describe : describe.skip)('a second worker with the same user ids', () => {
  it('does not start, whatever its state directory', async () => {
    const first = await WorkerUnderTest.create();
    const second = await WorkerUnderTest.create();
    try {
      await first.start();
      expect(await refusal(second.start())).toEqual(inUse);
      await first.stop(2);
      await second.start();
    } finally {
      await first.remove();
      await second.remove();
    }
  });
});
