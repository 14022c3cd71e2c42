// Imported first and in old syntax, so that an old Node says this sentence instead of a syntax error.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Valise needs Node 20.19 or newer; this is Node ${process.versions.node}.`);
  process.exit(1);
}
