/**
 * docs/reference/openapi.json, made from control's routes and the rules of the contracts.
 *
 *   npm run openapi            writes it
 *   npm run openapi -- --check compares it, and judges it by the OpenAPI schema
 */
import './node-version.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

const { giveUp, Obstacle, prepare, ROOT } = await import('./prepare.mjs');
const FILE = join(ROOT, 'docs', 'reference', 'openapi.json');

async function main() {
  await prepare(['control']);
  const built = join(ROOT, 'dist', 'control', 'apps', 'control', 'src', 'openapi', 'describe.js');
  const { describeListeners } = createRequire(import.meta.url)(built);
  const text = `${JSON.stringify(await describeListeners(), null, 2)}\n`;
  const { Validator } = await import('@seriousme/openapi-schema-validator');
  const { valid, errors } = await new Validator().validate(JSON.parse(text));
  if (!valid) throw new Obstacle(`not an OpenAPI document: ${JSON.stringify(errors)}`);
  const name = relative(ROOT, FILE);
  if (!process.argv.includes('--check')) {
    writeFileSync(FILE, text);
    console.log(`${name} written`);
  } else if (readFileSync(FILE, 'utf8') !== text) {
    throw new Obstacle(`${name} is not what the code says: npm run openapi writes it anew`);
  } else {
    console.log(`${name} is valid, and what the code says`);
  }
}

main().catch(giveUp);
