import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'coverage/**'] },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'separate-type-imports', disallowTypeAnnotations: false },
      ],
      // Nest modules and injected classes are empty or static by nature.
      '@typescript-eslint/no-extraneous-class': 'off',
      // A DTO class describes a shape; whoever sends one writes it as a literal.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      'no-console': 'error',
      eqeqeq: 'error',
      // The environment is read once per app, in its config folder.
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Read the environment in config/ only.' },
      ],
    },
  },
  {
    files: ['apps/*/src/config/**/*.ts', 'apps/cli/src/**/*.ts', 'libs/*/spec/**/*.ts', 'test/**/*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  { files: ['apps/cli/src/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['**/*spec.ts', 'test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  prettier,
);
