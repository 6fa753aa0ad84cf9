/**
 * A real Docker engine for tests: the one of this machine where one answers; else, as root with CI=true on Debian,
 * Debian's own, installed and started here on a data root and a socket of its own. Otherwise the tests are skipped,
 * and `why` says so.
 */
import type { EngineSettings } from '../../../activities/sandbox/docker/engine.js';
import { noOwnEngine, ownEngine, problemOf } from './own-engine.js';

export interface TestEngine {
  readonly settings: EngineSettings;
  stop(): Promise<void>;
}

export interface NoEngine {
  readonly why: string;
}

export async function testEngine(): Promise<TestEngine | NoEngine> {
  const host = process.env.STEADFAST_TEST_DOCKER_HOST || process.env.DOCKER_HOST || undefined;
  const found = { host };
  const why = await problemOf(found);
  if (why === undefined) return { settings: found, stop: async () => {} };
  const none = process.env.CI === 'true' ? noOwnEngine() : 'one is started only as root with CI=true';
  if (none !== undefined) return { why: `no Docker engine answers (${why}), and ${none}` };
  try {
    return await ownEngine();
  } catch (error) {
    return {
      why: `no Docker engine can be had here: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
