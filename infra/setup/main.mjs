/**
 * Set-up of a fresh clone, then whatever was asked for. Plain Node, no packages.
 *
 *   node infra/setup/main.mjs [--then demo|test|bench|chaos|check [arguments]]
 *
 * First run: some minutes and about 1 GB on disk. Later runs: under two seconds. Exit code 2: one message with the fix.
 */

// Old versions of Node must get to this line, so nothing is imported before it.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`steadfast: Node.js: expected 20.19 or newer, found ${process.versions.node}`);
  console.error('  fix: install a current version (https://nodejs.org, or "nvm install 22"), then run again');
  process.exit(2);
}
const { start } = await import('./start.mjs');
await start(process.argv.slice(2));
