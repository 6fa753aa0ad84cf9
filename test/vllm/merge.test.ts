/**
 * Shards as two FSDP2 processes of PyTorch write them, merged by Verl's own program and served by a real vLLM. Skipped
 * without both; STEADFAST_VERL_PYTHON names a Python that imports verl, torch and transformers:
 *
 *   STEADFAST_VERL_PYTHON=… npx vitest run test/vllm/merge.test.ts       about two minutes
 */
import { execFile } from 'node:child_process';
import { truncate } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { modelFolder } from '../render-parity/models.js';
import { TestHost } from '../serving/host.js';
import { makeTinyQwen3, vllmPython } from './engine.js';
import { CPU, SMALL, slowly } from './real.js';

const vllm = vllmPython();
const verl = process.env.STEADFAST_VERL_PYTHON;
const WRITE_SHARDS = path.join(import.meta.dirname, '..', 'serving', 'fixtures', 'write-shards.py');

describe.skipIf(vllm === undefined || !verl)('a sharded checkpoint', () => {
  let db: TestDatabase;
  let host: TestHost;
  let checkpoint: string;

  beforeAll(async () => {
    db = await startTestDatabase();
    host = await TestHost.make(db);
    const model = path.join(host.folder, 'tiny');
    checkpoint = path.join(host.folder, 'global_step_5');
    await makeTinyQwen3(vllm!, modelFolder('qwen3'), model);
    const args = ['-m', 'torch.distributed.run', '--nproc-per-node', '2', WRITE_SHARDS, model, checkpoint];
    await promisify(execFile)(verl!, args);
  }, 300_000);
  afterAll(async () => {
    await host?.end();
    await db?.stop();
  });

  const deps = () =>
    host.deps(
      {
        command: [path.join(path.dirname(vllm!), 'vllm')],
        programs: {
          merge: [
            ...[verl!, '-m', 'verl.model_merger', 'merge', '--backend', 'fsdp'],
            ...['--local_dir', '{folder}', '--target_dir', '{out}'],
          ],
          make: null,
        },
      },
      CPU,
    );
  const spec = () => ({
    weights: { folder: checkpoint, weightVersion: 'merged' },
    settings: { ...SMALL, dtype: 'bfloat16' as const },
    hosts: [],
  });

  test('is merged by Verl and served by vLLM', async () => {
    await host.want('merged', spec());
    const { ended } = host.keep('merged', deps());
    const row = await slowly(() => host.ready('merged'));
    expect(row.problem).toBeNull();
    // Random weights prefer nothing by much: above uniform over 151,936 ids, and far from certain.
    expect(row.reference).toBeGreaterThan(-Math.log(151_936));
    expect(row.reference).toBeLessThan(-1);
    await host.servings.giveBack('test');
    expect(await ended).toBe('unneeded');
  }, 900_000);

  test('that lost a byte is never given to Verl', async () => {
    await truncate(path.join(checkpoint, 'actor', 'model_world_size_2_rank_1.pt'), 1_000_000);
    await host.want('cut', spec());
    const { ended } = host.keep('cut', deps());
    await expect(ended).rejects.toMatchObject({ code: 'bad_checkpoint' });
    await expect(ended).rejects.toThrow('rank_1.pt: expected a whole PyTorch archive, found 1000000 bytes');
  });
});
