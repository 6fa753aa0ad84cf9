/** What a server is given to load: whole, of what the manifest names, and never half of it. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { KeeperDeps } from '../../activities/serving/deps.js';
import { runProgram } from '../../activities/serving/made-by.js';
import { prepareModel } from '../../activities/serving/prepare.js';
import type { ServedWeights } from '../../core/serving/servings.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';
import { safetensors } from './fixtures/safetensors.mjs';
import { QUICK, SHAPE, TestHost } from './host.js';

/** A busy machine takes its time; `until` says what was not seen. */
vi.setConfig({ testTimeout: 300_000 });

const END_OF_ZIP = Buffer.from([0x50, 0x4b, 0x05, 0x06, ...Array(18).fill(0)]);

let db: TestDatabase;
let host: TestHost;

beforeAll(async () => {
  db = await startTestDatabase();
});
afterAll(() => db.stop());
beforeEach(async () => {
  host = await TestHost.make(db);
  await host.want('merge');
});
afterEach(() => host.end());

const { signal } = new AbortController();

function prepare(weights: Omit<ServedWeights, 'weightVersion'>, change: Partial<KeeperDeps> = {}, env = {}) {
  const deps = host.deps(change, { MERGER_COUNT: countFile(), ...env });
  const log = path.join(host.folder, 'merge.log');
  return prepareModel(
    {
      cache: path.join(host.folder, 'models'),
      hashes: deps.hashes,
      programs: deps.programs,
      run: (command, out, inner) => runProgram(deps, { serving: 'merge', command, out, log }, inner),
    },
    { weightVersion: 'v', ...weights },
    signal,
  );
}

const countFile = () => path.join(host.folder, 'count');

async function runs(): Promise<number> {
  return existsSync(countFile()) ? (await readFile(countFile(), 'utf8')).trim().split('\n').length : 0;
}

/** As Verl's FSDP workers leave it, with `ranks` shards below `actor`. */
async function sharded(ranks = 2): Promise<string> {
  const folder = path.join(host.folder, 'global_step_5');
  const actor = path.join(folder, 'actor');
  await mkdir(path.join(actor, 'huggingface'), { recursive: true });
  await writeFile(
    path.join(actor, 'fsdp_config.json'),
    JSON.stringify({ FSDP_version: 2, world_size: ranks }),
  );
  for (let rank = 0; rank < ranks; rank++) {
    const shard = path.join(actor, `model_world_size_${ranks}_rank_${rank}.pt`);
    await writeFile(shard, Buffer.concat([Buffer.alloc(1_000, rank), END_OF_ZIP]));
  }
  const model = await host.model();
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json'])
    await writeFile(path.join(actor, 'huggingface', name), await readFile(path.join(model, name)));
  return folder;
}

test('a model is served as it lies', async () => {
  const folder = await host.model();
  expect(await prepare({ folder })).toEqual({ folder, vocabulary: 16 });
});

test('a model of which something is missing or cut off is named, all of it', async () => {
  const folder = await host.model();
  await truncate(path.join(folder, 'model.safetensors'), 400);
  await expect(prepare({ folder })).rejects.toThrow(
    /model\.safetensors: expected \d+ bytes, as its header says, found 400/,
  );

  const tensors = { 'model.embed_tokens.weight': [15, 4], 'model.layers.1.mlp.weight': [4, 4] };
  await writeFile(path.join(folder, 'model.safetensors'), safetensors(tensors));
  const refused = prepare({ folder });
  await expect(refused).rejects.toMatchObject({ code: 'bad_checkpoint', retry: false });
  await expect(refused).rejects.toThrow('expected tensors of 2 layers, found none of layer 0');
  await expect(refused).rejects.toThrow('expected shape [16, 4], found [15, 4]');
});

test('files are held against the manifest before anything is started', async () => {
  const folder = await host.model();
  const config = await readFile(path.join(folder, 'config.json'));
  const sha256 = createHash('sha256').update(config).digest('hex');
  const file = { name: 'config.json', bytes: config.length, sha256 };
  expect(await prepare({ folder, files: [file] })).toMatchObject({ folder });
  await expect(prepare({ folder, files: [{ ...file, sha256: 'f'.repeat(64) }] })).rejects.toThrow(
    `config.json: expected SHA-256 ${'f'.repeat(64)}, found ${sha256}`,
  );
  await expect(
    prepare({
      folder,
      files: [
        { ...file, bytes: 3 },
        { ...file, name: 'gone' },
      ],
    }),
  ).rejects.toThrow(/expected 3 bytes, found \d+[\s\S]*gone: expected \d+ bytes, found ENOENT/);
});

test('shards are merged once, under the digest of what they are', async () => {
  const folder = await sharded();
  const made = await prepare({ folder });
  expect(made.vocabulary).toBe(SHAPE.vocab_size);
  expect(await prepare({ folder })).toEqual(made);
  expect(await runs()).toBe(1);

  // What was damaged since is made again; what is made of other shards lies elsewhere.
  await truncate(path.join(made.folder, 'model-00002-of-00002.safetensors'), 10);
  expect(await prepare({ folder })).toEqual(made);
  expect(await runs()).toBe(2);
  const shard = path.join(folder, 'actor', 'model_world_size_2_rank_0.pt');
  await writeFile(shard, Buffer.concat([Buffer.alloc(2_000), END_OF_ZIP]));
  expect((await prepare({ folder })).folder).not.toBe(made.folder);
});

test('shards that are not all there, or cut off, are not given to the program', async () => {
  const folder = await sharded(3);
  const actor = path.join(folder, 'actor');
  await truncate(path.join(actor, 'model_world_size_3_rank_0.pt'), 500);
  await writeFile(path.join(actor, 'fsdp_config.json'), JSON.stringify({ world_size: 4 }));
  const refused = prepare({ folder });
  await expect(refused).rejects.toMatchObject({ code: 'bad_checkpoint' });
  await expect(refused).rejects.toThrow(/model_world_size_4_rank_3\.pt: expected the shard of a rank/);
  await writeFile(path.join(actor, 'fsdp_config.json'), JSON.stringify({ world_size: 3 }));
  await expect(prepare({ folder })).rejects.toThrow(
    /rank_0\.pt: expected a whole PyTorch archive, found 500 bytes without its end/,
  );
  expect(await runs()).toBe(0);
});

test.each([
  ['crash', 'ended with code 1', 'Missing rank files'],
  ['half', 'is no model', 'model-00002-of-00002.safetensors: expected a shard of the model'],
  ['short', 'is no model', 'expected tensors of 2 layers, found none of layer 1'],
  ['hang', 'wrote nothing for 1 s', 'merging'],
])('a program that does %s: nothing of it is ever used', async (mood, what, words) => {
  const folder = await sharded();
  const times = { ...QUICK, mergeSilentMs: 1_000 };
  const refused = prepare({ folder }, { times }, { MERGER_MOOD: mood });
  await expect(refused).rejects.toMatchObject({ kind: 'trainer', code: 'merge_failed' });
  await expect(refused).rejects.toThrow(what);
  await expect(refused).rejects.toThrow(words);
  expect(
    (await readdir(path.join(host.folder, 'models'))).filter((name) => !name.endsWith('.aside')),
  ).toEqual([]);
  expect(await host.servings.openServers(host.host)).toEqual([]);
  // And the next one starts from nothing.
  expect((await prepare({ folder })).vocabulary).toBe(16);
  expect((await readdir(path.join(host.folder, 'models'))).filter((name) => name.endsWith('.aside'))).toEqual(
    [],
  );
});

test('weights without a configuration need a program that the host names', async () => {
  const folder = path.join(host.folder, 'bare');
  await mkdir(folder);
  await expect(prepare({ folder })).rejects.toThrow(
    `${folder}: expected config.json (a model) or fsdp_config.json (shards), found neither. STEADFAST_MAKE_MODEL`,
  );
  const model = await host.model();
  const make = ['/bin/sh', '-c', 'cp "$1"/* "$2"', 'sh', model, '{out}', '{folder}'];
  const { programs } = host.deps();
  const made = await prepare({ folder }, { programs: { ...programs, make } });
  expect(made.vocabulary).toBe(16);
  expect(made.folder).toContain('models');
});

test('bare weights of a model get the rest from its folder; adapters alone are refused', async () => {
  const base = await host.model('base');
  const folder = path.join(host.folder, 'checkpoint');
  await mkdir(folder);
  await writeFile(
    path.join(folder, 'model.safetensors'),
    await readFile(path.join(base, 'model.safetensors')),
  );
  const made = await prepare({ folder, base });
  expect(await prepare({ folder, base })).toEqual(made);
  expect((await readdir(made.folder)).toSorted()).toEqual([
    'config.json',
    'model.safetensors',
    'steadfast-made.json',
    'tokenizer.json',
    'tokenizer_config.json',
  ]);
  await writeFile(path.join(folder, 'model.safetensors'), safetensors({ 'model.layers.0.lora_A': [4, 4] }));
  await expect(prepare({ folder, base })).rejects.toThrow(
    /expected all tensors of .+, found no model\.embed_tokens\.weight \(3 missing\)/,
  );
});
