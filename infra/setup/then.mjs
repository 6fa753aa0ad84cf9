/** What `main.mjs --then NAME` goes on with, and how it is run. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './root.mjs';

/** @type {Record<string, { description: string, start: (args: string[]) => Promise<number | undefined> }>} */
const NEXT = {
  demo: { description: 'the demo', start: (args) => steadfast(['demo', ...args]) },
  bench: { description: 'the benchmarks', start: (args) => program('dist/test/bench/main.js', args) },
  chaos: { description: 'chaos', start: (args) => program('dist/test/chaos/main.js', args) },
  fuzz: { description: 'the fuzz run', start: (args) => program('dist/test/fuzz/main.js', args) },
  'compare:vllm': {
    description: "the comparison with vLLM's parsers",
    start: (args) => program('dist/test/vllm-parity/main.js', args),
  },
  test: {
    description: 'all tests',
    start: (args) => program('node_modules/vitest/vitest.mjs', ['run', ...args]),
  },
  'test:long': {
    description: 'all tests, the long ones too',
    start: (args) =>
      program('node_modules/vitest/vitest.mjs', ['run', ...args], { STEADFAST_LONG_TESTS: '1' }),
  },
  check: { description: 'the static checks', start: (args) => program('infra/setup/check.mjs', args) },
};

export const NEXT_NAMES = Object.keys(NEXT);

/**
 * Exit code of what was started; undefined when it sets its own.
 * @param {string} name @param {string[]} args
 */
export async function goOn(name, args) {
  return NEXT[name]?.start(args);
}

/**
 * In this process: one process less to keep, and signals need no forwarding.
 * @param {string[]} args
 */
async function steadfast(args) {
  const { main } = await import(pathToFileURL(path.join(ROOT, 'dist', 'cli', 'main.js')).href);
  return main(args);
}

/** @param {string} script @param {string[]} args @param {Record<string, string>} [more] variables @returns {Promise<number>} */
function program(script, args, more = {}) {
  const command = [path.join(ROOT, script), ...args];
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...more },
  });
  // A terminal sends Ctrl-C to both; the child decides what it means. Other senders mean us: passed on.
  const ignore = () => {};
  const pass = () => child.kill('SIGTERM');
  process.on('SIGINT', ignore).on('SIGTERM', pass);
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (code, name) => {
      process.off('SIGINT', ignore).off('SIGTERM', pass);
      done(code ?? (name === 'SIGINT' ? 130 : 1));
    });
  });
}
