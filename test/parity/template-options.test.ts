/** Variables of a chat template: from the run file to the prompt, the campaign's identity, and reading it again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLocalArtifacts } from '../../activities/artifacts/local.js';
import { readModelFiles, storeReading } from '../../activities/episode/reading.js';
import { resolveModel } from '../../cli/run/model.js';
import { fingerprint } from '../../core/fingerprint.js';
import type { JsonObject } from '../../core/message.js';
import { Renderer } from '../../core/render/renderer.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { modelFiles } from '../render-parity/models.js';

let folder = '';
const prompt = {
  systemMessages: [],
  tools: [],
  messages: [{ role: 'user', content: 'please refund order r417 .' } as const],
};
const NO_THOUGHT = { enable_thinking: false };
/** Files with a real template; its 150,000 words are not needed for it. Made once: they take a second to read. */
const made = new Map<string, { readonly tokenizer: JsonObject; readonly config: JsonObject }>();
function small(name: 'qwen3' | 'qwen3.5' = 'qwen3.5') {
  const known = made.get(name);
  if (known) return known;
  const { tokenizer, config } = modelFiles(name);
  const files = { tokenizer: { ...tokenizer, model: { type: 'BPE', vocab: {}, merges: [] } }, config };
  made.set(name, files);
  return files;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'template options '));
  const { tokenizer, config } = small();
  await writeFile(path.join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  await writeFile(path.join(folder, 'tokenizer_config.json'), JSON.stringify(config));
});
afterAll(() => rm(folder, { recursive: true }));

function model(changes: JsonObject) {
  const value = {
    kind: 'token',
    baseUrl: 'http://127.0.0.1:9/v1',
    model: 'm',
    tokenizer: folder,
    ...changes,
  };
  return resolveModel(parseRunFile({ model: value }, 'run.yaml').model);
}

describe('in a run file', () => {
  test('options are part of the campaign, and of its identity', async () => {
    const plain = await model({});
    const asked = await model({ templateOptions: NO_THOUGHT, format: 'qwen3_xml_plain' });
    expect(plain).not.toHaveProperty('templateOptions');
    expect(asked).toMatchObject({
      templateOptions: NO_THOUGHT,
      tokenizer: expect.stringMatching(/^sha256:/),
    });
    expect(fingerprint(asked)).not.toBe(
      fingerprint({ ...asked, templateOptions: { enable_thinking: true } }),
    );
  });

  test.each<[string, JsonObject, RegExp]>([
    [
      'a name that the template does not read',
      { enable_thinknig: false },
      /^templateOptions\.enable_thinknig: expected a variable that the chat template reads/,
    ],
    ['a variable of every conversation', { tools: 'x' }, /^templateOptions\.tools: expected no variable/],
    ['a name that is none', { 'a b': true }, /templateOptions\.a b/],
    ['a list', { enable_thinking: [] }, /model\.templateOptions\.enable_thinking/],
    ['nothing', {}, /at least one variable/],
  ])('%s is refused', async (_name, templateOptions, message) => {
    await expect(async () => model({ templateOptions })).rejects.toThrow(message);
  });

  test('a format that reads the reasoning otherwise than the template leaves it is refused, both ways', async () => {
    await expect(model({ templateOptions: NO_THOUGHT })).rejects.toThrow(
      'model.format: expected a format that reads no reasoning (one of the _plain ones), found "qwen3_xml", and a template that closes the reasoning',
    );
    await expect(model({ format: 'qwen3_xml_plain' })).rejects.toThrow(
      'model.format: expected a format that reads reasoning, found "qwen3_xml_plain", and a template that opens the reasoning',
    );
  });
});

test('how a prompt leaves the reasoning', () => {
  const left = (name: 'qwen3' | 'qwen3.5', templateOptions?: JsonObject) =>
    new Renderer({ ...small(name), ...(templateOptions ? { templateOptions } : {}) }).promptReasoning();
  expect(left('qwen3.5')).toBe('open');
  expect(left('qwen3.5', NO_THOUGHT)).toBe('closed');
  // The model opens it by itself.
  expect(left('qwen3')).toBe('absent');
  expect(left('qwen3', NO_THOUGHT)).toBe('closed');
});

test('what was rendered with options is rendered with them again', async () => {
  const artifacts = createLocalArtifacts(path.join(folder, 'artifacts'));
  const files = { ...small(), templateOptions: NO_THOUGHT };
  const renderer = new Renderer(files);
  const reading = { format: 'qwen3_xml_plain', files: renderer.files };
  const { modelFiles: digest } = await storeReading(artifacts, reading, []);
  const again = new Renderer(await readModelFiles(artifacts, digest));
  expect(again.firstPromptText(prompt)).toBe(renderer.firstPromptText(prompt));
  expect(again.firstPromptText(prompt)).not.toBe(new Renderer(small()).firstPromptText(prompt));
  // Models without options keep the digest that they had before there were any.
  const { modelFiles: plain } = await storeReading(artifacts, { format: 'qwen3_xml', files: small() }, []);
  expect(new TextDecoder().decode(await artifacts.get(plain))).toBe(JSON.stringify(small()));
});
