/**
 * Our command line before vLLM's own parser, and a checkpoint of the embedded policy behind a real vLLM that is started,
 * taken over, killed and ended by its keeper. Skipped without a vLLM; run with `npm run test:vllm`.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import { vllmArguments } from '../../core/serving/flags.js';
import type { VllmSettings } from '../../core/serving/settings.js';
import { VLLM } from '../../temporal.config.js';
import { until } from '../e2e/until.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { modelFolder } from '../render-parity/models.js';
import { QUICK, TestHost } from '../serving/host.js';
import { BASE } from '../trainer/server.js';
import { makeTinyQwen3, vllmPython } from './engine.js';
import { CPU, SMALL, slowly } from './real.js';

const python = vllmPython();
const LAUNCH = { folder: '/models/my model', name: 'sha256:abc', host: '10.0.0.7', port: 8_100 };
async function parsed(settings: VllmSettings): Promise<Record<string, unknown>> {
  const args = ['-m', 'steadfast_vllm.parse_arguments', JSON.stringify(vllmArguments(settings, LAUNCH))];
  const { stdout } = await promisify(execFile)(python!, args, { env: { ...process.env, ...CPU } });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

describe.skipIf(python === undefined)("vLLM's parser", () => {
  test("takes the reference's flags", async () => {
    expect(await parsed(VLLM)).toMatchObject({
      ...{ model_tag: '/models/my model', host: '10.0.0.7', port: 8_100, served_model_name: ['sha256:abc'] },
      ...{ tensor_parallel_size: 8, dtype: 'bfloat16', max_model_len: 262_144, gpu_memory_utilization: 0.85 },
      ...{ max_num_seqs: 16, max_num_batched_tokens: 8_192, logprobs_mode: 'raw_logprobs' },
      ...{ reasoning_parser: 'qwen3', enable_auto_tool_choice: true, tool_call_parser: 'qwen3_xml' },
      ...{ enable_prefix_caching: true, enable_chunked_prefill: true, language_model_only: true },
    });
  }, 300_000);

  test('takes what is switched off', async () => {
    const off = { prefixCaching: false, chunkedPrefill: false, languageModelOnly: false };
    const none = { reasoningParser: null, toolCallParser: null };
    expect(await parsed({ ...VLLM, ...off, ...none, extraArguments: ['--enforce-eager'] })).toMatchObject({
      ...{ enable_prefix_caching: false, enable_chunked_prefill: false, language_model_only: false },
      ...{
        reasoning_parser: '',
        enable_auto_tool_choice: false,
        tool_call_parser: null,
        enforce_eager: true,
      },
    });
  }, 300_000);
});

describe.skipIf(python === undefined)('a real vLLM and its keeper', () => {
  let db: TestDatabase;
  let host: TestHost;

  beforeAll(async () => {
    db = await startTestDatabase();
    host = await TestHost.make(db);
  });
  afterAll(async () => {
    await host?.end();
    await db?.stop();
  });

  test('made of a checkpoint, ready, taken over, killed and started again, ended', async () => {
    const folder = path.join(host.folder, 'step-0001');
    await mkdir(folder);
    await copyFile(path.join(BASE, 'model.safetensors'), path.join(folder, 'model.safetensors'));
    const make = [python!, '-m', 'steadfast_vllm.export', '{folder}/model.safetensors', BASE, '{out}'];
    const deps = host.deps(
      {
        command: [path.join(path.dirname(python!), 'vllm')],
        programs: { merge: [], make },
        times: { ...QUICK, healthEveryMs: 1_000 },
      },
      CPU,
    );
    const weights = { folder, weightVersion: `sha256:${'c'.repeat(64)}` };
    await host.want('real', { weights, settings: SMALL, hosts: [] });
    const first = host.keep('real', deps);
    const started = await slowly(() => host.ready('real'));
    const before = await host.server();
    expect(await markedProcesses(before.id, 'STEADFAST_SERVER')).not.toHaveLength(1);
    first.leave();
    await expect(first.ended).rejects.toThrow('killed');

    const second = host.keep('real', deps);
    await until('taken over', async () =>
      host.said.some((line) => line.includes(`${before.pid} taken over`)),
    );
    process.kill(before.pid, 'SIGKILL');
    const again = await slowly(() =>
      host.when('real', 'another server', ({ state, restarts }) => state === 'ready' && restarts === 1),
    );
    // The same weights answer the same, or it would not be ready.
    expect(again.reference).toBe(started.reference);
    expect(await markedProcesses(before.id, 'STEADFAST_SERVER')).toEqual([]);
    const { id } = await host.server();
    await host.servings.giveBack('test');
    expect(await second.ended).toBe('unneeded');
    expect(await markedProcesses(id, 'STEADFAST_SERVER')).toEqual([]);
    console.log(`first greedy token: ${started.reference} nats`);
  }, 900_000);

  test("a checkpoint as the PyTorch trainer writes it, with its model's configuration and tokenizer", async () => {
    const base = path.join(host.folder, 'tiny');
    await makeTinyQwen3(python!, modelFolder('qwen3'), base);
    const folder = path.join(host.folder, 'step-0003');
    await mkdir(folder);
    const weights = bare(await readFile(path.join(base, 'model.safetensors')));
    await writeFile(path.join(folder, 'model.safetensors'), weights);
    const deps = host.deps({ command: [path.join(path.dirname(python!), 'vllm')] }, CPU);
    const spec = { weights: { folder, weightVersion: 'bare', base }, settings: SMALL, hosts: [] };
    await host.want('bare', spec);
    const { ended } = host.keep('bare', deps);
    const row = await slowly(() => host.ready('bare'));
    expect(row.reference).toBeGreaterThan(-Math.log(151_936));
    await host.servings.giveBack('test');
    expect(await ended).toBe('unneeded');
  }, 900_000);
});

/** The same tensors, and a header that says our format and not PyTorch's. */
function bare(model: Buffer): Buffer {
  const end = 8 + Number(model.readBigUInt64LE());
  const { __metadata__: _theirs, ...tensors } = JSON.parse(model.subarray(8, end).toString());
  const header = Buffer.from(JSON.stringify({ __metadata__: { format: '1' }, ...tensors }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, model.subarray(end)]);
}
