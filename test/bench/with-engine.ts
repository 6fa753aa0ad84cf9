/** A benchmark of containers on an engine of its own, whose CPU time is known; skipped with the reason without one. */
import type Docker from 'dockerode';
import { openEngine } from '../../activities/sandbox/docker/engine.js';
import { noOwnEngine } from '../sandbox/docker/own-engine.js';
import { type MeteredEngine, meteredEngine } from './engine-cpu.js';
import type { BenchOptions, Figure } from './figure.js';

type Measure = (metered: MeteredEngine, engine: Docker) => Promise<readonly Figure[]>;

/** Stacks that `measure` starts use that engine. What it changes of `STEADFAST_ISOLATION` is undone. */
export async function withMeteredEngine(options: BenchOptions, measure: Measure): Promise<readonly Figure[]> {
  const why = noOwnEngine();
  if (why !== undefined) {
    options.say(`  skipped: ${why}`);
    return [];
  }
  const metered = await meteredEngine();
  const { DOCKER_HOST, STEADFAST_ISOLATION } = process.env;
  try {
    process.env.DOCKER_HOST = metered.engine.settings.host ?? '';
    return await measure(metered, await openEngine(metered.engine.settings));
  } finally {
    restore('DOCKER_HOST', DOCKER_HOST);
    restore('STEADFAST_ISOLATION', STEADFAST_ISOLATION);
    await metered.stop();
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
