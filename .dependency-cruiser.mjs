/** The house's import rules (docs/architecture.md): imports go down, through a library's front door, never app to app. */
const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

const FRONT_DOORS =
  '^libs/contracts/src/(documents|examples|failure|settings|wire)/index\\.ts$|^libs/(authority|materializer|process)/src/index\\.ts$';

export default {
  forbidden: [
    forbid(
      'no-circular',
      'A cycle is one thing in two files.',
      {},
      { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    ),
    forbid('no-unresolved', 'Every import resolves.', {}, { couldNotResolve: true }),
    forbid(
      'contracts-alone',
      'Contracts import no other part of the house.',
      { path: '^libs/contracts/' },
      { path: '^(apps|libs/(authority|materializer|process))/' },
    ),
    forbid(
      'authority-down',
      'Authority imports contracts only.',
      { path: '^libs/authority/' },
      { path: '^(apps|libs/(materializer|process))/' },
    ),
    forbid(
      'materializer-down',
      'The materializer imports contracts only.',
      { path: '^libs/materializer/' },
      { path: '^(apps|libs/(authority|process))/' },
    ),
    forbid(
      'process-alone',
      'How a program keeps its own process imports no other part of the house.',
      { path: '^libs/process/' },
      { path: '^(apps|libs/(authority|contracts|materializer))/' },
    ),
    forbid(
      'no-app-to-app',
      'The apps meet on the wire only.',
      { path: '^apps/([^/]+)/' },
      { path: '^apps/', pathNot: '^apps/$1/' },
    ),
    forbid(
      'worker-knows-the-wire',
      'The worker has no database.',
      { path: '^apps/worker/' },
      { path: '^libs/authority/' },
    ),
    forbid(
      'cli-knows-contracts',
      'The command line knows the contracts only.',
      { path: '^apps/cli/' },
      { path: '^libs/(authority|materializer|process)/' },
    ),
    forbid(
      'worker-small',
      'The worker loads no database driver, ORM, Express or Swagger.',
      { path: '^(apps/worker|libs/(contracts|materializer|process))/', pathNot: 'spec\\.ts$' },
      { path: 'node_modules/(pg|typeorm|express|@nestjs/(typeorm|platform-express|swagger))/' },
    ),
    forbid(
      'front-door',
      'A library is entered through its front door.',
      { path: '^(apps|test)/' },
      { path: '^libs/', pathNot: FRONT_DOORS },
    ),
    forbid(
      'front-door-of-a-neighbour',
      'A library enters another one through its front door.',
      { path: '^libs/([^/]+)/' },
      { path: '^libs/', pathNot: `^libs/$1/|${FRONT_DOORS}` },
    ),
    forbid(
      'documents-do-no-io',
      'Of Node itself, the documents of the contracts load digests and bytes alone.',
      { path: '^libs/contracts/src/documents/', pathNot: 'spec\\.ts$' },
      { dependencyTypes: ['core'], pathNot: '^(node:)?(buffer|crypto)$' },
    ),
    forbid(
      'documents-pure',
      'The documents of the contracts load semver, and no other package.',
      { path: '^libs/contracts/src/documents/', pathNot: 'spec\\.ts$' },
      { path: 'node_modules/', pathNot: 'node_modules/(@types/)?semver/' },
    ),
    forbid(
      'no-dev-in-product',
      'Programs run without development packages.',
      { path: '^(apps|libs)/', pathNot: 'spec\\.ts$|^(apps|libs)/[^/]+/spec/' },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
