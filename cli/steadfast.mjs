#!/usr/bin/env node
/**
 * The `steadfast` command: brings the build up to date (0.1 s when it is), then runs `cli/main.ts` from it. An image holds
 * no sources, only what was built.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/**
 * Exit code 2 with one message; with `--json` also as the one document on standard output.
 * @param {string} place @param {string} expected @param {string} found @param {string} fix
 */
function refuse(place, expected, found, fix) {
  const message = `${place}: expected ${expected}, found ${found}`;
  if (process.argv.includes('--json')) {
    const error = { kind: 'usage', message, place, expected, found, fix };
    console.log(JSON.stringify({ error, exitCode: 2 }, null, 2));
  }
  console.error(`steadfast: ${message}\n  fix: ${fix}`);
  process.exit(2);
}

if (major < 20 || (major === 20 && minor < 19)) {
  const fix = 'install a current version (https://nodejs.org, or "nvm install 22"), then run again';
  refuse('Node.js', '20.19 or newer', process.versions.node, fix);
}
const { existsSync } = await import('node:fs');
const { fileURLToPath } = await import('node:url');
if (!existsSync(fileURLToPath(new URL('../node_modules/esbuild', import.meta.url)))) {
  refuse('npm packages', 'an installation', 'none', 'run "npm run setup"');
}
const sources = existsSync(fileURLToPath(new URL('main.ts', import.meta.url)));
if (!sources || (await (await import('../infra/setup/start.mjs')).fresh())) {
  const { main } = await import(new URL('../dist/cli/main.js', import.meta.url).href);
  process.exitCode = await main(process.argv.slice(2));
}
