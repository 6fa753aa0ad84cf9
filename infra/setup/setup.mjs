/**
 * Everything that a fresh clone needs, in order, each step skipped when it is done already: npm packages, Python
 * packages, the Temporal server, PostgreSQL, the build. A run that has nothing to do takes well under two seconds.
 */
import path from 'node:path';
import { build } from './build.mjs';
import { requireRoom } from './disk.mjs';
import { withLock } from './lock.mjs';
import { npmPackages } from './npm.mjs';
import { pythonPackages } from './python.mjs';
import { homeFolder, ROOT } from './root.mjs';
import { temporalServer } from './temporal.mjs';

/** Data of the stack itself: databases, artifacts, logs. MiB. */
const STACK_MB = 100;

/**
 * Brings the checkout to where `steadfast` can run. Says on `log` what it does while doing it; one line when there
 * was nothing to do. Throws `SetupProblem` for what the reader can fix.
 * @param {(line: string) => void} log
 */
export async function setUp(log) {
  const started = Date.now();
  const home = homeFolder();
  requireRoom(home, STACK_MB, 'databases, artifacts and logs');
  const onWait = (/** @type {number} */ holder) => log(`waiting for another set-up (process ${holder})`);
  const worked = await withLock(path.join(home, 'setup.lock'), () => steps(home, log), onWait);
  if (worked) log(`set-up done in ${seconds(started)}`);
}

/** @param {string} home @param {(line: string) => void} log @returns {Promise<boolean>} whether anything was done */
async function steps(home, log) {
  const tick = (/** @type {string} */ name) => (/** @type {number} */ elapsed) =>
    log(`  … ${name}: ${elapsed} s`);
  // All looked at before the first works: a missing Python is known before npm has run for a minute.
  const todo = [
    npmPackages(ROOT, tick('npm packages')),
    pythonPackages(ROOT, home, tick('Python packages')),
    temporalServer(ROOT, home, tick('Temporal server')),
  ].filter((step) => step.work);
  let worked = todo.length > 0;
  for (const step of todo) {
    const started = Date.now();
    log(`${step.name}: ${step.announce}`);
    log(`${step.name}: ${await step.work?.()}, ${seconds(started)}`);
  }
  const started = Date.now();
  const built = await build({ log });
  if (built.written + built.removed > 0 || built.bundled) {
    worked = true;
    log(`build: ${seconds(started)}`);
  }
  return worked;
}

/** @param {number} since */
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
