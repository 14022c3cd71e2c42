/** One project per kind of test: pure, with a real PostgreSQL, with real processes and TLS. */
const shared = {
  rootDir: '.',
  testEnvironment: 'node',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          target: 'es2023',
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  moduleNameMapper: {
    '^@valise/contracts/(documents|examples|failure|settings|wire)$': '<rootDir>/libs/contracts/src/$1',
    '^@valise/(authority|materializer|process)$': '<rootDir>/libs/$1/src',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  setupFiles: ['reflect-metadata'],
};

export default {
  // Much of the time tests wait for processes and PostgreSQL.
  maxWorkers: '100%',
  // For what hangs; a busy machine is not a failure.
  testTimeout: 120_000,
  projects: [
    { ...shared, displayName: 'unit', testMatch: ['**/*.spec.ts'] },
    { ...shared, displayName: 'db', testMatch: ['**/*.db-spec.ts'] },
    { ...shared, displayName: 'e2e', testMatch: ['**/*.e2e-spec.ts'] },
  ],
};
