/**
 * A disk that fills while something runs: said in words, survived, and over as soon as there is room. On a memory
 * disk of 2 MB, which only root may mount; elsewhere these tests are skipped.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { leaveStack } from '../../infra/stack/holders.js';
import { logFile, readState } from '../../infra/stack/info.js';
import { stopStack } from '../../infra/stack/stop.js';
import { killHard, processesOf, processOf, stateWhen, tinySupervisor } from '../setup/harness.js';

const disks: string[] = [];
afterEach(async () => {
  for (const disk of disks.splice(0)) {
    await stopStack({ home: disk });
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  }
});

function mounted(): string {
  const disk = mkdtempSync(join(tmpdir(), 'steadfast disk '));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk], { stdio: 'ignore' });
  disks.push(disk);
  return disk;
}

/** Takes the last byte; the returned function gives all back. */
function fill(disk: string): () => void {
  const filler = join(disk, 'filler');
  for (const size of [64 * 1024, 4_096, 1]) {
    for (;;) {
      try {
        writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        break;
      }
    }
  }
  return () => rmSync(filler);
}

describe.runIf(canMount())('on a disk that fills', () => {
  it('an artifact says so, and is written when there is room', async () => {
    const disk = mounted();
    const store = createLocalArtifacts(join(disk, 'artifacts'));
    const before = await store.put(Buffer.from('before'));
    const free = fill(disk);
    const bytes = Buffer.alloc(100_000, 7);
    await expect(store.put(bytes)).rejects.toMatchObject({
      kind: 'artifacts',
      code: 'disk_full',
      retry: true,
    });
    expect(await store.verify(before)).toBe('ok');
    free();
    expect(await store.verify(await store.put(bytes))).toBe('ok');
  });

  it('the supervisor goes on: what dies is started again, and leaving works', async () => {
    const home = mounted();
    tinySupervisor(home, { trainer: {} });
    const ready = await stateWhen(home, ({ state }) => state === 'ready');
    const free = fill(home);
    await killHard(processOf(ready, 'trainer'));
    const supervisorLog = (): string => readFileSync(logFile(home, 'supervisor'), 'utf8');
    free();
    const again = await stateWhen(home, (state) => {
      const { state: of, restarts } = processOf(state, 'trainer');
      return of === 'ready' && restarts === 1;
    });
    expect(again.supervisor).toEqual(ready.supervisor);
    expect(existsSync(logFile(home, 'supervisor')) ? supervisorLog() : '').not.toContain('failed');
    fill(home);
    expect(await leaveStack(home)).toEqual([]);
    expect(readState(home)).toBeUndefined();
    expect(processesOf(home)).toEqual([]);
  });
});

function canMount(): boolean {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return false;
  try {
    execFileSync('umount', [mounted()]);
    rmSync(disks.pop() as string, { recursive: true });
    return true;
  } catch {
    // A container without the right to mount.
    disks.pop();
    return false;
  }
}
