/** A small disk of its own for the artifacts, to be filled: a memory file system, which only root may mount (Linux). */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError } from '../../core/faults.js';

export interface SmallDisk {
  /** Takes the last byte, gives all back after `ms`. */
  full(ms: number): Promise<void>;
  heal(): void;
  unmount(): void;
}

/** Blocks by which it is filled: large ones first, bytes at the end. */
const BLOCKS = [1 << 20, 64 << 10, 4_096, 1] as const;

/** Throws `UsageError` where no disk may be mounted. */
export function mountDisk(folder: string, megabytes: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    throw new UsageError('--disk', 'Linux and root, who may mount a memory disk', (error as Error).message);
  }
  const filler = join(folder, 'filler');
  const heal = (): void => rmSync(filler, { force: true });
  return {
    async full(ms) {
      for (const size of BLOCKS) fillWith(filler, size);
      await sleep(ms);
      heal();
    },
    heal,
    unmount: () => void execFileSync('umount', ['-l', folder]),
  };
}

function fillWith(file: string, size: number): void {
  const block = Buffer.alloc(size);
  for (;;) {
    try {
      writeFileSync(file, block, { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      return;
    }
  }
}
