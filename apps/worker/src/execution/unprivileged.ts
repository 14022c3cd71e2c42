/** A killed worker takes along what is started so, and nothing that it executes gains a privilege. */
const FLAGS = ['--no-new-privs', '--pdeathsig', 'KILL'];

/** Stands before a command that shall run with our uid. */
export const UNPRIVILEGED: readonly string[] = ['setpriv', ...FLAGS, '--'];

/** Stands before a command that shall run under `uid`, a gid of the same number and no other group. */
export function unprivilegedAs(uid: number): readonly string[] {
  const id = String(uid);
  return ['setpriv', ...FLAGS, '--reuid', id, '--regid', id, '--clear-groups', '--'];
}
