/** Lets the TypeScript of this clone be loaded as it is, as jest loads it: for commands whose parts stand below test/. */
import Module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { transformFileSync } from '@swc/core';
import jest from '../jest.config.mjs';
import { ROOT } from './prepare.mjs';

const [project] = jest.projects;
const [, options] = Object.values(project.transform)[0];
const aliases = Object.entries(project.moduleNameMapper)
  .filter(([, path]) => path.startsWith('<rootDir>'))
  .map(([pattern, path]) => [new RegExp(pattern), path.replace('<rootDir>', ROOT)]);

Module._extensions['.ts'] = (module, file) => {
  module._compile(transformFileSync(file, { ...options, swcrc: false }).code, file);
};

const resolve = Module._resolveFilename;
Module._resolveFilename = function (request, parent, ...rest) {
  for (const [pattern, path] of aliases) {
    if (pattern.test(request)) return join(request.replace(pattern, path), 'index.ts');
  }
  const relative = request.startsWith('.') && parent?.filename?.endsWith('.ts');
  if (!relative) return resolve.call(this, request, parent, ...rest);
  return resolve.call(this, join(dirname(parent.filename), request.replace(/\.js$/, '')), parent, ...rest);
};

/** The exports of a TypeScript file of this clone, named from its root. */
export const load = (file) => createRequire(import.meta.url)(join(ROOT, file));

load('node_modules/reflect-metadata');
