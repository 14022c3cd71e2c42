import { existsSync } from 'node:fs';

/** The shell that takes the environment over and becomes the task: dash where there is one, for it adds nothing. */
export const LAUNCH_SHELL = existsSync('/bin/dash') ? '/bin/dash' : '/bin/sh';

/**
 * Arguments: working directory, command, its arguments. Descriptor 3 brings the environment, 4 takes the marks:
 * `d` = no such directory, `r` = about to exec, `r126`/`r127` = exec failed with that status. While exec runs, the
 * shell's own copy of 4 is close-on-exec, so the task never holds it and its end without a status proves the exec.
 * Where memory runs out the kernel ends a task before the worker, which may be the larger one.
 */
export const LAUNCH_SCRIPT = `
ulimit -c 0
umask 077
{ printf 1000 >/proc/self/oom_score_adj; } 2>/dev/null
QL3_ENVIRONMENT=$(/bin/cat <&3 && printf .) || exit 125
exec 3<&-
cd -- "$1" 2>/dev/null || { printf d >&4; exit 125; }
shift
unset PWD OLDPWD SHLVL _
eval "\${QL3_ENVIRONMENT%.}"
[ "\${QL3_HANDOVER-}" = complete ] || exit 125
unset QL3_ENVIRONMENT QL3_HANDOVER
[ -z "\${BASH_VERSION-}" ] || shopt -s execfail
trap 'printf %s "$?" >&4' EXIT
printf r >&4
{ exec "$@"; } 4>&-
exit
`;

/** Names whose bytes the shell cannot pass on: it checks, sets or computes them itself. */
const KEPT_BY_DASH = ['OPTIND'];
const KEPT_BY_BASH =
  'UID EUID PPID GROUPS LINENO RANDOM SRANDOM SECONDS BASHOPTS SHELLOPTS SHLVL BASH_VERSINFO BASHPID DIRSTACK FUNCNAME ' +
  'HISTCMD EPOCHSECONDS EPOCHREALTIME BASH_COMMAND BASH_SUBSHELL BASH_ALIASES BASH_CMDS PIPESTATUS BASH_ARGC ' +
  'BASH_ARGV BASH_LINENO BASH_SOURCE BASH_VERSION BASH_COMPAT BASH_XTRACEFD BASH_ARGV0 _';

/** Names that a task cannot be given exactly, with the shell of this machine. */
export const UNCARRIED_NAMES: ReadonlySet<string> = new Set(
  LAUNCH_SHELL === '/bin/dash' ? KEPT_BY_DASH : [...KEPT_BY_DASH, ...KEPT_BY_BASH.split(' ')],
);
