/** Stacks that start at the same moment never share a port, although none of them listens yet. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { freePort } from '../../infra/stack/free-port.js';
import { claimPort } from '../../infra/stack/port-claims.js';
import { choosePorts } from '../../infra/stack/ports.js';

const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'ports '));
  homes.push(home);
  return home;
}

it('six homes choose at once: no port twice; each finds its own again', async () => {
  const six = Array.from({ length: 6 }, newHome);
  const chosen = await Promise.all(six.map((home) => choosePorts(home, new Set())));
  const all = chosen.flatMap((ports) => Object.values(ports));
  expect(new Set(all).size).toBe(all.length);
  expect(await choosePorts(six[0]!, new Set())).toEqual(chosen[0]);
});

// On Linux the system lends 32768 to 60999: such a port may be gone while its killed server is started again.
it('a port in place of a taken one is none that the system lends to outgoing connections', async () => {
  const many = await Promise.all(Array.from({ length: 30 }, () => freePort()));
  expect(new Set(many).size).toBe(30);
  expect(many.filter((port) => port < 10_000 || port >= 32_768)).toEqual([]);
});

it('a claim ends with its process, also one that was killed', async () => {
  const [port] = Object.values(await choosePorts(newHome(), new Set()));
  expect(claimPort(newHome(), port!)).toBe(false);
  const module = join(import.meta.dirname, '..', '..', 'dist', 'infra', 'stack', 'port-claims.js');
  const code = `const { claimPort } = await import(${JSON.stringify(module)}); process.stdout.write(String(claimPort('/a', 65001))); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = await new Promise<string>((done) => child.stdout.once('data', (data) => done(String(data))));
  expect(said).toBe('true');
  expect(claimPort('/b', 65001)).toBe(false);
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await ended;
  expect(claimPort('/b', 65001)).toBe(true);
});
