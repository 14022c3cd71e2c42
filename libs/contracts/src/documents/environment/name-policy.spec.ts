import { refusedNameClass, REFUSED_NAMES } from './name-policy.js';

describe('the name policy', () => {
  it.each([
    ['LD_PRELOAD', 'loader'],
    ['LD_AUDIT', 'loader'],
    ['DYLD_INSERT_LIBRARIES', 'loader'],
    ['GCONV_PATH', 'loader'],
    ['GLIBC_TUNABLES', 'loader'],
    ['OPENSSL_CONF', 'loader'],
    ['PATH', 'loader'],
    ['NODE_OPTIONS', 'interpreter'],
    ['npm_config_node_options', 'interpreter'],
    ['PYTHONSTARTUP', 'interpreter'],
    ['PERL5OPT', 'interpreter'],
    ['RUBYOPT', 'interpreter'],
    ['JAVA_TOOL_OPTIONS', 'interpreter'],
    ['PHP_INI_SCAN_DIR', 'interpreter'],
    ['LUA_INIT_5_4', 'interpreter'],
    ['R_PROFILE_USER', 'interpreter'],
    ['DOTNET_STARTUP_HOOKS', 'interpreter'],
    ['GOFLAGS', 'interpreter'],
    ['BASH_ENV', 'shell'],
    ['ENV', 'shell'],
    ['IFS', 'shell'],
    ['PS4', 'shell'],
    ['SHELLOPTS', 'shell'],
    ['BASH_FUNC_ls', 'shell'],
    ['GIT_SSH_COMMAND', 'shell'],
    ['GIT_CONFIG_KEY_0', 'shell'],
    ['SSH_ASKPASS', 'shell'],
  ])('refuses %s as %s', (name, kind) => {
    expect(refusedNameClass(name)).toBe(kind);
  });

  it.each([
    'NODE_ENV',
    'PYTHONUNBUFFERED',
    'NPM_TOKEN',
    'CARGO_REGISTRY_TOKEN',
    'GITHUB_TOKEN',
    'GIT_AUTHOR_NAME',
    'DATABASE_URL',
    'ld_preload',
    'MY_LD_PRELOAD',
    '__proto__',
    'constructor',
    'toString',
  ])('lets %s through', (name) => {
    expect(refusedNameClass(name)).toBeNull();
  });

  it('lists each name once, as a name that a variable can have, under no prefix of the list', () => {
    const lists = Object.values(REFUSED_NAMES);
    const names = lists.flatMap((list) => list.names);
    const prefixes = lists.flatMap((list) => list.prefixes);
    expect(new Set(names).size).toBe(names.length);
    expect([...names, ...prefixes].filter((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))).toEqual([]);
    expect(names.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)))).toEqual([]);
  });
});
