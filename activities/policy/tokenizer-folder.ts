/**
 * The tokenizer of a model outside the trainer: read from a folder as Hugging Face lays it out, kept as an artifact.
 * Its digest is part of the campaign's identity, and the workers need no folder.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '../../core/artifacts.js';
import { UsageError } from '../../core/faults.js';
import type { OutputFormat } from '../../core/interpret/format.js';
import type { JsonObject } from '../../core/message.js';
import { Renderer } from '../../core/render/renderer.js';

export interface TokenizerFiles {
  readonly digest: Digest;
  /** JSON of `{"tokenizer", "config"}`. */
  readonly bytes: Uint8Array;
}

/**
 * Reads `tokenizer.json`, `tokenizer_config.json` and, where the template is a file of its own, `chat_template.jinja`.
 * Throws `UsageError` naming the file that is missing, no JSON, or not what a renderer can use. With `use`, also where
 * its template does not know the options, or leaves the reasoning otherwise than the output format reads it.
 */
export async function readTokenizer(folder: string, use?: TokenizerUse): Promise<TokenizerFiles> {
  const tokenizer = await readJson(folder, 'tokenizer.json');
  const config = { ...(await readJson(folder, 'tokenizer_config.json')) };
  if (config.chat_template === undefined) {
    const template = await readIfThere(join(folder, 'chat_template.jinja'));
    if (template !== undefined) config.chat_template = template;
  }
  try {
    const templateOptions = use?.templateOptions;
    const renderer = new Renderer({ tokenizer, config, ...(templateOptions ? { templateOptions } : {}) });
    if (use) requireReasoning(use.format, renderer);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // What the run file says, in its own words.
    if (error.place.startsWith('templateOptions.') || error.place === 'model.format') throw error;
    throw new UsageError(`tokenizer ${folder}`, 'files that prompts can be rendered with', error.message);
  }
  const bytes = new TextEncoder().encode(JSON.stringify({ tokenizer, config }));
  return { digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes };
}

interface TokenizerUse {
  readonly format: OutputFormat;
  readonly templateOptions: JsonObject | undefined;
}

/** Read with the wrong format, every answer of the model would be reasoning, or its reasoning an answer. */
function requireReasoning({ name, reasons }: OutputFormat, renderer: Renderer): void {
  const left = renderer.promptReasoning();
  if (left === 'absent' || reasons === (left === 'open')) return;
  const expected = `a format that ${reasons ? 'reads no reasoning (one of the _plain ones)' : 'reads reasoning'}`;
  const found = `"${name}", and a template that ${left === 'open' ? 'opens' : 'closes'} the reasoning`;
  throw new UsageError('model.format', expected, found);
}

async function readJson(folder: string, name: string): Promise<JsonObject> {
  const file = join(folder, name);
  const text = await readIfThere(file);
  if (text === undefined) {
    const hint = 'Name a folder with the model’s tokenizer files, not a hub id.';
    throw new UsageError('tokenizer', `a folder with ${name}`, `no file ${file}`, hint);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch (error) {
    throw new UsageError(file, 'JSON', (error as Error).message);
  }
  throw new UsageError(file, 'a JSON object', text.slice(0, 40));
}

/** Undefined for a file that is not there. */
async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(file, 'a readable file', message);
  }
}
