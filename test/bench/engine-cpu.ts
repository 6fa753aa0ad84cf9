/**
 * CPU time of a Docker engine with all that it starts, by the kernel's control groups (Linux, as root): daemon,
 * containerd, its shims and runc in one group, the containers' own processes in another. A shim that has ended counts,
 * which a look at `/proc` would miss: it is nobody's child.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OwnEngine, ownEngine } from '../sandbox/docker/own-engine.js';
import { readProcesses, treeOf } from './process-times.js';

const ROOT = '/sys/fs/cgroup';
/** Version 1 has a hierarchy for each controller, version 2 one for all. */
const VERSION_1 = join(ROOT, 'cpuacct');
const GUESTS = `steadfast-bench-guests-${process.pid}`;
const ENGINE = `steadfast-bench-engine-${process.pid}`;

export interface EngineSeconds {
  readonly engine: number;
  readonly guests: number;
}

export interface MeteredEngine {
  readonly engine: OwnEngine;
  /** CPU-seconds so far. */
  seconds(): EngineSeconds;
  stop(): Promise<void>;
}

export async function meteredEngine(): Promise<MeteredEngine> {
  const base = existsSync(VERSION_1) ? VERSION_1 : ROOT;
  const engine = await ownEngine([
    `--cgroup-parent=/${GUESTS}`,
    '--exec-opt',
    'native.cgroupdriver=cgroupfs',
  ]);
  for (const name of [ENGINE, GUESTS]) mkdirSync(join(base, name), { recursive: true });
  // What they start later is in their group from the beginning.
  for (const pid of treeOf(engine.pid(), readProcesses())) {
    writeFileSync(join(base, ENGINE, 'cgroup.procs'), String(pid));
  }
  return {
    engine,
    seconds: () => ({ engine: secondsOf(join(base, ENGINE)), guests: secondsOf(join(base, GUESTS)) }),
    async stop() {
      await engine.stop();
      const hierarchies = base === ROOT ? [ROOT] : readdirSync(ROOT).map((name) => join(ROOT, name));
      for (const name of [ENGINE, GUESTS]) for (const each of hierarchies) removeGroup(join(each, name));
    },
  };
}

function secondsOf(group: string): number {
  const usage = join(group, 'cpuacct.usage');
  if (existsSync(usage)) return Number(readFileSync(usage, 'utf8')) / 1e9;
  const [, micros] = /^usage_usec (\d+)$/m.exec(readFileSync(join(group, 'cpu.stat'), 'utf8')) ?? [];
  return Number(micros) / 1e6;
}

function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch (error) {
    // A process that is only just ending keeps its group; an empty one costs nothing.
    if (!['ENOENT', 'EBUSY', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
