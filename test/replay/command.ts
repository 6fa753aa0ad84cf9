/** The `steadfast` command as people run it, a process of its own, against the stack of a home. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Ran } from '../in-process.js';

export async function steadfast(home: string, ...args: readonly string[]): Promise<Ran> {
  const main = join(import.meta.dirname, '..', '..', 'cli', 'steadfast.mjs');
  const { TEMPORAL_ADDRESS: _temporal, DATABASE_URL: _database, ...env } = process.env;
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...env, STEADFAST_HOME: home, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text: Buffer) => {
    out += text;
  });
  child.stderr.on('data', (text: Buffer) => {
    err += text;
  });
  const code = await new Promise<number>((done) => {
    child.once('close', (exit) => done(exit ?? -1));
  });
  return { code, out, err };
}
