/**
 * Two steps of GRPO on deskbench with the Verl bridge as the trainer of the whole pipeline: once undisturbed, and once with
 * the bridge killed in step 2. Both end with the same bytes. Skipped without Verl (native/verl/make-venv.sh).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { trainConfig } from '../../cli/run/resolve.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { say, taughtTasks, trained, whileSampling } from '../torch/grpo.js';
import { taughtModel } from '../torch/tiny-model.js';
import { type Bridge, startBridge, tinyModel, verlPython } from './bridge.js';

const LIMIT_MS = 40 * 60_000;
const CONTEXT = 2_048;

const python = verlPython();

describe.skipIf(python === undefined)('GRPO with the Verl bridge', () => {
  let folder = '';
  let bridge: Bridge | undefined;
  let pool: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verl-grpo-'));
    const model = path.join(folder, 'model');
    pool = await taughtTasks();
    say(`taught: ${await taughtModel(python!, model, pool, { head: 'own', tokenizer: 'embedded' })}`);
    await tinyModel(python!, model, 1);
  }, LIMIT_MS);
  afterEach(() => bridge?.stop());
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it(
    'a run whose bridge is killed in the middle ends with the bytes of one that was left alone',
    async () => {
      const file = {
        seed: 11,
        limits: { tokensPerCall: 64, tokensPerEpisode: 256 },
        train: {
          steps: 2,
          saveEvery: 2,
          plan: { learningRate: 1e-4 },
          shape: { groups: 4, groupSize: 4, maxGroups: 8, maxRefillRounds: 1, minInformative: 1 },
        },
      };
      const config = await trainConfig(file, createDeskbench(), pool);
      const start = async (port = '0') => {
        bridge = await started(port);
        return { config, variables: { STEADFAST_TRAINER_URL: bridge.url }, limitMs: LIMIT_MS };
      };
      const undisturbed = await trained('verl', await start());
      await bridge!.stop();
      const disturbed = await trained('verl', await start(), async (ledger) => {
        await whileSampling(ledger, 'train/verl', 2, LIMIT_MS);
        const { url } = bridge!;
        process.kill(bridge!.ranks()[0]!, 'SIGKILL');
        await bridge!.stop();
        bridge = await started(new URL(url).port);
      });
      expect(disturbed.restores).toBeGreaterThan(0);
      expect(new Set(undisturbed.weights).size).toBe(2);
      expect(disturbed).toEqual({ ...undisturbed, restores: disturbed.restores });
    },
    3 * LIMIT_MS,
  );

  /** One rank, which is the process itself. */
  function started(port: string): Promise<Bridge> {
    const sizes = ['actor.ppo_max_token_len_per_gpu', 'rollout.log_prob_max_token_len_per_gpu'];
    const set = sizes.flatMap((name) => ['--set', `actor_rollout_ref.${name}=${CONTEXT}`]);
    return startBridge(python!, folder, ['--ranks', 'local', '--port', port, ...set]);
  }
});
