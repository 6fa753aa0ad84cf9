import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { memoryOf, readProcesses, treeOf, treeSeconds } from './process-times.js';

/** Starts a child that works for `SECONDS` and ends, waits for it, and goes on living. */
const SECONDS = 0.3;
const burn = `const end = Date.now() + ${SECONDS * 1_000}; while (process.cpuUsage().user < ${SECONDS * 1e6} || Date.now() < end);`;
const program = `
  const { spawnSync } = require('node:child_process');
  spawnSync(process.execPath, ['-e', ${JSON.stringify(burn)}]);
  process.stdout.write('ready');
  setInterval(() => {}, 1_000);
`;

test('the time of a child that has ended stays with the process that started it', async () => {
  const parent = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    await once(parent.stdout, 'data');
    const pid = parent.pid ?? 0;
    const table = readProcesses();
    expect(treeOf(process.pid, table)).toContain(pid);
    expect(treeOf(pid, table)).toEqual([pid]);
    expect(treeSeconds(pid, table)).toBeGreaterThanOrEqual(SECONDS);
    expect(memoryOf(pid).bytes).toBeGreaterThan(1e6);
  } finally {
    parent.kill();
    await once(parent, 'exit');
  }
  expect(treeSeconds(parent.pid ?? 0, readProcesses())).toBe(0);
  expect(memoryOf(parent.pid ?? 0)).toEqual({ bytes: 0, kind: 'Rss' });
});
