import { userInfo } from 'node:os';
import { Refusal } from '../refusal.js';
import { assertOwnName } from './account.js';

describe('a user id without a name', () => {
  it('is told in one sentence why PostgreSQL cannot be started', () => {
    const unknown = (): never => {
      throw Object.assign(new Error('uv_os_get_passwd'), { code: 'ENOENT' });
    };
    expect(() => {
      assertOwnName(unknown);
    }).toThrow(Refusal);
    expect(() => {
      assertOwnName(unknown);
    }).toThrow(/^User id \d+ has no entry in \/etc\/passwd, .*; add it or use --database-url\.$/);
    assertOwnName(() => userInfo());
  });
});
