/** Fails where a document links to a file or names a command that does not exist, or a decision is not in the list. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './prepare.mjs';

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const documents = tracked.split('\n').filter(Boolean);
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const faults = [];

for (const document of documents) {
  const text = readFileSync(join(ROOT, document), 'utf8');
  for (const [, target] of text.matchAll(/\]\((?!https?:|#)([\w./-]+)(?:#[\w-]+)?\)/g)) {
    if (!existsSync(join(ROOT, dirname(document), target))) faults.push(`${document}: no file ${target}`);
  }
  for (const [, path] of text.matchAll(/`((?:apps|libs|test|docs|scripts|deploy)\/[A-Za-z0-9_./-]+)`/g)) {
    if (!existsSync(join(ROOT, path))) faults.push(`${document}: no file ${path}`);
  }
  for (const [, name] of text.matchAll(/npm run (?:-s )?([a-z][a-z:-]*)/g)) {
    if (!(name in scripts)) faults.push(`${document}: no command npm run ${name}`);
  }
}

const decisions = readdirSync(join(ROOT, 'docs/adr')).filter((name) => /^\d{4}-/.test(name));
const list = readFileSync(join(ROOT, 'docs/adr/README.md'), 'utf8');
for (const name of decisions)
  if (!list.includes(`(${name})`)) faults.push(`docs/adr/README.md: ${name} is not listed`);

for (const fault of faults) console.error(fault);
console.log(`${documents.length} documents checked, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
