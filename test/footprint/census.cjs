// Loaded before a program (node --require): says on SIGUSR2 which code the program has loaded, as a line of its log.
const { statSync } = require('node:fs');

process.on('SIGUSR2', () => {
  const files = Object.keys(require.cache).filter((file) => file !== __filename);
  const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
  console.log(JSON.stringify({ event: 'census', modules: files.length, bytes }));
});
