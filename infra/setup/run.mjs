/** Child processes of set-up: found on PATH, run with their output kept for the error message. */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Absolute path of a program on PATH, or undefined.
 * @param {string} name
 */
export function onPath(name) {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    if (folder === '') continue;
    const file = path.join(folder, name);
    if (isExecutable(file)) return file;
  }
  return undefined;
}

/** @param {string} file */
export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    // Missing, or not ours to run: both mean "look elsewhere".
    return false;
  }
}

/**
 * Standard output of a short command, trimmed; undefined when it cannot be started or fails.
 * @param {string} file @param {string[]} args
 */
export function ask(file, args) {
  const result = spawnSync(file, args, { encoding: 'utf8', timeout: 20_000 });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/**
 * Runs to the end; throws an Error with the command's last lines when it fails. `onTick` is called every 10 s.
 * @param {string} file @param {string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv, onTick?: (seconds: number) => void }} options
 */
export async function run(file, args, { cwd, env = process.env, onTick = () => {} }) {
  const started = Date.now();
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      // The cause stands at the beginning of what npm says, and at the end of what pip says.
      said += text;
      if (said.length > 12_000) said = `${said.slice(0, 3_000)}\n…\n${said.slice(-6_000)}`;
    });
  }
  const timer = setInterval(() => onTick(Math.round((Date.now() - started) / 1000)), 10_000);
  try {
    const code = await new Promise((done, fail) => {
      child.once('error', fail);
      child.once('close', (status, name) => done(status ?? name));
    });
    if (code === 0) return;
    const lines = said.trim().split('\n');
    const words = lines.length <= 20 ? lines : [...lines.slice(0, 8), '…', ...lines.slice(-10)];
    const what = [path.basename(file), ...args.slice(0, 3)].join(' ');
    throw new Error(`${what} ended with ${code}:\n    ${words.join('\n    ')}`);
  } finally {
    clearInterval(timer);
  }
}
