/** What the hosts of a stand-in cluster hold: a model folder, data sets, a folder for checkpoints. Small, and whole. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../infra/setup/root.mjs';

/** The reference run's file, as an object that tests change. */
export function referenceFile(): ReferenceFile {
  return parse(readFileSync(join(ROOT, 'examples/reference-q38.yaml'), 'utf8')) as ReferenceFile;
}

export interface ReferenceFile {
  [key: string]: unknown;
  train: Record<string, unknown>;
  trainer: Record<string, unknown> & {
    model: string;
    checkpoints: string;
    hosts: { name: string; gpus: number | number[] }[];
    data: { train: string; validation: string };
    agentLoop: { config: string };
    pins: { packages: Record<string, string>; files: { file: string; sha256: string }[] };
  };
}

/**
 * The reference's file with what is this machine's: suite, user and judge of a local stack, and hosts with names that
 * no other queue has, since Temporal remembers who polled a queue for minutes.
 */
export function localFile(
  urls: { readonly userUrl: string; readonly judgeUrl: string },
  prefix: string,
): ReferenceFile {
  const file = referenceFile();
  const { tasks: _, ...train } = file.train;
  const hosts = file.trainer.hosts.map((host, index) => ({ ...host, name: `${prefix}-${index + 1}` }));
  return {
    ...file,
    suite: 'deskbench',
    user: { baseUrl: urls.userUrl, model: 'rules', apiKeyEnv: 'USER_KEY' },
    judge: { baseUrl: urls.judgeUrl, model: 'rules', apiKeyEnv: 'JUDGE_KEY' },
    train,
    trainer: { ...file.trainer, hosts },
  };
}

const TOKENS = ['<|im_start|>', '<|im_end|>', '<think>', '</think>', '<tool_call>', '</tool_call>'];

/** A causal model of two shards, 64 heads, made for 262,144 positions; its weights are zeros. */
export function makeModel(folder: string, tokens: readonly string[] = TOKENS): void {
  mkdirSync(folder, { recursive: true });
  const json = (name: string, value: unknown) => writeFileSync(join(folder, name), JSON.stringify(value));
  const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  json('config.json', {
    model_type: 'qwen3',
    num_attention_heads: 64,
    num_key_value_heads: 8,
    max_position_embeddings: 262_144,
  });
  json('model.safetensors.index.json', {
    weight_map: Object.fromEntries(shards.map((file, index) => [`layer.${index}`, file])),
  });
  json('tokenizer.json', {
    added_tokens: tokens.map((content, id) => ({ id, content })),
    model: { type: 'BPE', vocab: {}, merges: [] },
  });
  json('tokenizer_config.json', { eos_token: '<|im_end|>' });
  for (const [index, file] of shards.entries())
    writeFileSync(join(folder, file), shard(`layer.${index}`, 256));
}

/** One float32 tensor of zeros. */
function shard(name: string, elements: number): Buffer {
  const header = JSON.stringify({
    [name]: { dtype: 'F32', shape: [elements], data_offsets: [0, 4 * elements] },
  });
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, Buffer.from(header), Buffer.alloc(4 * elements)]);
}

/** A checkpoint as Verl saves it, each file with a byte in it. */
export function makeCheckpoint(folder: string, step: number, worldSize: number): void {
  const actor = join(folder, `global_step_${step}`, 'actor');
  mkdirSync(join(actor, 'huggingface'), { recursive: true });
  writeFileSync(join(actor, 'huggingface', 'config.json'), '{}');
  writeFileSync(join(folder, `global_step_${step}`, 'data.pt'), 'x');
  for (let rank = 0; rank < worldSize; rank += 1) {
    for (const part of ['model', 'optim', 'extra_state']) {
      writeFileSync(join(actor, `${part}_world_size_${worldSize}_rank_${rank}.pt`), 'x');
    }
  }
  writeFileSync(join(folder, 'latest_checkpointed_iteration.txt'), String(step));
}
