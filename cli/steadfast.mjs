#!/usr/bin/env node
/** The `steadfast` command: brings the build up to date (0.1 s when it is), then runs `cli/main.ts` from it. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`steadfast: Node.js: expected 20.19 or newer, found ${process.versions.node}`);
  process.exit(2);
}
const { existsSync } = await import('node:fs');
const { fileURLToPath } = await import('node:url');
if (!existsSync(fileURLToPath(new URL('../node_modules/esbuild', import.meta.url)))) {
  console.error('steadfast: npm packages: expected an installation, found none\n  fix: run "npm run setup"');
  process.exit(2);
}
const { fresh } = await import('../infra/setup/start.mjs');
if (await fresh()) {
  const { main } = await import(new URL('../dist/cli/main.js', import.meta.url).href);
  process.exitCode = await main(process.argv.slice(2));
}
