/** What a GPU host says of itself, on real folders and files. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { composeVerl, packSettings } from '../../activities/host/compose.js';
import { machineFacts } from '../../activities/host/facts.js';
import { folderFacts } from '../../activities/host/folders.js';
import { readGpuLines } from '../../activities/host/gpus.js';
import { HashCache } from '../../activities/host/hash-cache.js';
import { lineCount } from '../../activities/host/line-count.js';
import { modelFacts } from '../../activities/host/model-folder.js';
import { parquetRows } from '../../activities/host/parquet-rows.js';
import { proxiesOf } from '../../activities/host/proxies.js';
import { installedIn } from '../../activities/host/python.js';
import { readProbeFiles, removeProbeFile, writeProbeFile } from '../../activities/host/shared-folder.js';
import { verlCheckpoints } from '../../activities/host/verl-checkpoints.js';
import { modelTokens } from '../../cli/preflight/model-tokens.js';
import { OWNER_FILE } from '../../core/cluster.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { makeCheckpoint, makeModel } from '../stand-in-cluster/material.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'steadfast host '));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const TOKENS = modelTokens('qwen3_xml');
const cacheFile = () => join(folder, 'home', 'hashes.json');
const looked = (model: string, tokens = TOKENS) =>
  modelFacts(model, tokens, new HashCache(cacheFile()), never);

describe('a model folder', () => {
  const model = () => join(folder, 'model');
  beforeEach(() => makeModel(model()));

  it('that is whole has a digest, a size and a shape', async () => {
    const facts = await looked(model());
    expect(facts).toMatchObject({
      files: 6,
      parameters: 512,
      type: 'qwen3',
      attentionHeads: 64,
      positions: 262_144,
      problems: [],
    });
    expect(facts.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('has another digest when a byte is another', async () => {
    const before = await looked(model());
    writeFileSync(join(model(), 'tokenizer_config.json'), '{}');
    expect((await looked(model())).digest).not.toBe(before.digest);
  });

  it('is not read again while sizes and times are the same', async () => {
    const file = join(model(), 'model-00001-of-00002.safetensors');
    const time = new Date('2026-01-01T00:00:00Z');
    utimesSync(file, time, time);
    const before = await looked(model());
    const { size } = statSync(file);
    const bytes = readFileSync(file);
    bytes[size - 1] = 1;
    writeFileSync(file, bytes);
    utimesSync(file, time, time);
    expect((await looked(model())).digest).toBe(before.digest);
    // A cache that cannot be read costs time, never correctness.
    writeFileSync(cacheFile(), 'no JSON');
    expect((await looked(model())).digest).not.toBe(before.digest);
  });

  it.each([
    ['Qwen/Qwen3-8B', '"Qwen/Qwen3-8B", which looks like a hub id'],
    ['/no/such/folder', 'no folder /no/such/folder'],
  ])('%s is none', async (name, found) => {
    expect((await looked(name)).problems).toEqual([
      expect.objectContaining({ place: 'trainer.model', found }),
    ]);
  });

  it('that is a file, or a link to itself, is none', async () => {
    const [plain, loop] = [join(folder, 'plain'), join(folder, 'loop')];
    writeFileSync(plain, '');
    symlinkSync(loop, loop);
    const found = async (name: string) => (await looked(name)).problems.map((problem) => problem.found);
    expect(await found(plain)).toEqual([`${plain}, a file or below one`]);
    expect(await found(loop)).toEqual([`${loop}, a symbolic link that leads to itself`]);
  });

  it('says every file that is missing, cut off or no model file', async () => {
    truncateSync(join(model(), 'model-00001-of-00002.safetensors'), 4);
    rmSync(join(model(), 'model-00002-of-00002.safetensors'));
    writeFileSync(join(model(), 'config.json'), 'no JSON');
    rmSync(join(model(), 'tokenizer.json'));
    const { problems, digest } = await looked(model());
    expect(digest).toBeNull();
    expect(problems.map(({ place, found }) => [place.split('/').at(-1), found.split(',')[0]])).toEqual([
      ['config.json', expect.stringContaining('Unexpected token')],
      ['model-00001-of-00002.safetensors', 'no safetensors header'],
      ['model-00002-of-00002.safetensors', 'no such file'],
      ['tokenizer.json', 'no such file'],
    ]);
  });

  it('whose tokenizer lacks control tokens is refused', async () => {
    makeModel(model(), ['<|im_start|>', '<|im_end|>']);
    expect((await looked(model())).problems).toEqual([
      {
        place: join(model(), 'tokenizer.json'),
        expected: 'the control tokens of the output format, each as one token',
        found: 'none for <think>, </think>, <tool_call>, </tool_call>',
        fix: expect.stringContaining('trainer.format'),
      },
    ]);
    expect((await looked(model(), modelTokens('qwen3_xml_plain'))).problems[0]!.found).toBe(
      'none for <tool_call>, </tool_call>',
    );
  });
});

describe('a shared folder', () => {
  const sight = (root: string, files: Parameters<typeof readProbeFiles>[1]) =>
    readProbeFiles(root, files, never, 0);

  it('is one where each reads what the other has written', async () => {
    const [a, b] = [await writeProbeFile(folder, 'a'), await writeProbeFile(folder, 'b')];
    expect(await sight(folder, [a, b])).toEqual({ a: 'seen', b: 'seen' });
    await removeProbeFile(folder, 'a');
    await removeProbeFile(folder, 'b');
    expect(await sight(folder, [a])).toEqual({ a: 'missing' });
    expect(() => statSync(join(folder, '.steadfast-preflight'))).toThrow();
  });

  it('is not proven by a file of the same name', async () => {
    const [one, two] = [join(folder, '1'), join(folder, '2')];
    mkdirSync(one);
    mkdirSync(two);
    const written = await writeProbeFile(one, 'a');
    await writeProbeFile(two, 'a');
    expect(await sight(two, [written])).toEqual({ a: 'another content' });
  });

  it('writes nowhere else, whatever the name', async () => {
    await expect(writeProbeFile(folder, '../a')).rejects.toThrow('expected a plain name, found "../a"');
  });
});

describe('checkpoints of Verl', () => {
  it('are whole, or say what is missing; the last step and the owner are told', async () => {
    makeCheckpoint(folder, 5, 4);
    makeCheckpoint(folder, 10, 4);
    rmSync(join(folder, 'global_step_5/actor/extra_state_world_size_4_rank_2.pt'));
    truncateSync(join(folder, 'global_step_10/data.pt'), 0);
    mkdirSync(join(folder, 'global_step_15'));
    writeFileSync(join(folder, OWNER_FILE), '{"run":"train/x"}');
    expect(await verlCheckpoints(folder)).toEqual({
      owner: 'train/x',
      latest: 10,
      steps: [
        { step: 5, worldSize: 4, missing: ['actor/extra_state_world_size_4_rank_2.pt'] },
        { step: 10, worldSize: 4, missing: ['data.pt'] },
        { step: 15, worldSize: null, missing: ['data.pt', 'actor/huggingface/config.json'] },
      ],
    });
  });

  it('are none in a folder that is not there; an owner that cannot be read is somebody', async () => {
    expect(await verlCheckpoints(join(folder, 'none'))).toEqual({ owner: null, latest: null, steps: [] });
    writeFileSync(join(folder, OWNER_FILE), 'half a li');
    expect((await verlCheckpoints(folder)).owner).toContain('cannot be read');
  });
});

describe('a data set', () => {
  const parquet = join(ROOT, 'test/stand-in-cluster/tasks-40.parquet');

  it('has the rows that its footer says', async () => {
    expect(await parquetRows(parquet)).toBe(40);
  });

  it('that is cut anywhere is none, and says so', async () => {
    const bytes = readFileSync(parquet);
    const file = join(folder, 'cut.parquet');
    for (const length of [0, 4, 7, 8, 100, bytes.length - 1]) {
      writeFileSync(file, bytes.subarray(0, length));
      await expect(parquetRows(file)).rejects.toThrow('no Parquet file');
    }
    // A footer that promises more than there is.
    writeFileSync(file, Buffer.concat([Buffer.from([0xff, 0xff, 0, 0]), Buffer.from('PAR1')]));
    await expect(parquetRows(file)).rejects.toThrow('its footer is cut');
  });

  it('of any bytes never hangs', async () => {
    const file = join(folder, 'any.parquet');
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (footer) => {
        const length = Buffer.alloc(4);
        length.writeUInt32LE(footer.length);
        writeFileSync(file, Buffer.concat([footer, length, Buffer.from('PAR1')]));
        const read = await parquetRows(file).catch((error: unknown) => (error as Error).message);
        expect(typeof read === 'number' || /no Parquet file/.test(read)).toBe(true);
      }),
    );
  });

  it('as JSON Lines has its lines', async () => {
    const file = join(folder, 'tasks.jsonl');
    writeFileSync(file, '{"a":1}\n\n{"a":2}\n{"a":3}');
    expect(await lineCount(file)).toBe(3);
  });
});

describe('the machine', () => {
  it('lists GPUs by its driver’s lines', () => {
    expect(readGpuLines('0, NVIDIA H100 80GB HBM3, 81559\n1, NVIDIA, Inc. X, 100\n')).toEqual([
      { index: 0, name: 'NVIDIA H100 80GB HBM3', memoryMiB: 81_559 },
      { index: 1, name: 'NVIDIA, Inc. X', memoryMiB: 100 },
    ]);
    expect(() => readGpuLines('No devices were found')).toThrow('expected "index, name, MiB"');
  });

  it('asks a Python for versions and files without importing them', async () => {
    const { packages, files } = await installedIn(
      'python3',
      ['no-such-package'],
      ['json/decoder.py', 'json/none.py', 'nothing/here.py'],
      never,
    );
    expect(packages).toEqual({ 'no-such-package': null });
    expect(files).toEqual({
      'json/decoder.py': expect.stringMatching(/^[0-9a-f]{64}$/),
      'json/none.py': null,
      'nothing/here.py': null,
    });
    await expect(installedIn('/no/python', [], [], never)).rejects.toThrow('no /no/python on this machine');
  });

  it('says why its Python cannot compose Verl’s configuration', async () => {
    const packed = packSettings(['trainer.nnodes=3']);
    await expect(composeVerl('python3', packed, never)).rejects.toThrow(/python3: .*(hydra|verl)/i);
  });

  it('tells folders that can be written to from others', async () => {
    expect(await folderFacts(folder)).toMatchObject({ problem: null });
    expect((await folderFacts(folder)).freeBytes).toBeGreaterThan(0);
    expect((await folderFacts(join(folder, 'none'))).problem).toBe('no such folder');
    writeFileSync(join(folder, 'file'), '');
    expect((await folderFacts(join(folder, 'file'))).problem).toBe('a file, not a folder');
  });

  it('shows proxies without their passwords', () => {
    expect(proxiesOf({ HTTP_PROXY: 'http://me:secret@proxy:3128', no_proxy: 'a,b', PATH: 'x' })).toEqual({
      HTTP_PROXY: 'http://proxy:3128',
      no_proxy: 'a,b',
    });
  });

  it('answers whatever is wrong with it, in a few kilobytes', async () => {
    const questions = {
      python: '/no/python',
      packages: ['verl'],
      files: ['verl/a.py'],
      folders: [join(folder, 'none')],
      inputs: [join(folder, 'none.parquet')],
      dataSets: [join(folder, 'none.parquet')],
      model: { folder: join(folder, 'none'), tokens: TOKENS },
    };
    const facts = await machineFacts({ host: 'h', home: folder, env: {} })(questions, never);
    expect(facts.pythonProblem).toBe('no /no/python on this machine');
    expect(facts.inputs).toEqual({ [join(folder, 'none.parquet')]: null });
    expect(facts.rows).toEqual({ [join(folder, 'none.parquet')]: expect.stringContaining('ENOENT') });
    expect(facts.model?.problems).toHaveLength(1);
    expect(facts.endedAt).toBeGreaterThanOrEqual(facts.startedAt);
    expect(JSON.stringify(facts).length).toBeLessThan(4_096);
  });
});
