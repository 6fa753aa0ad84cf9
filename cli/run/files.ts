/** The files that a person hands over: run files and lists of task ids, YAML or JSON. */
import { createReadStream } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse, YAMLParseError } from 'yaml';
import { UsageError } from '../../core/faults.js';
import { parseRunFile, type RunFile } from '../../core/schemas/run-file.js';

/** Reads a run file. Throws `UsageError` naming file, line or key. */
export async function readRunFile(file: string | undefined): Promise<RunFile> {
  if (file === undefined) return {};
  const place = `run file ${file}`;
  const read = parseRunFile(await readYaml(file, place, 'YAML or JSON'), place);
  if (read.train?.tasks === undefined) return read;
  return { ...read, train: { ...read.train, tasks: resolve(dirname(file), read.train.tasks) } };
}

/** A list of task ids: unique non-empty strings, at least one. Throws `UsageError` naming file and entry. */
export async function readTaskList(file: string): Promise<readonly string[]> {
  const place = `task list ${file}`;
  const value = await readYaml(file, place, 'a YAML or JSON list of task ids');
  if (!Array.isArray(value)) throw new UsageError(place, 'a list of task ids', kindOf(value));
  if (value.length === 0) throw new UsageError(place, 'at least one task id', 'an empty list');
  const seen = new Set<string>();
  for (const [index, id] of value.entries()) {
    const entry = `${place}, entry ${index + 1}`;
    if (typeof id !== 'string' || id === '') throw new UsageError(entry, 'a task id', JSON.stringify(id));
    if (seen.has(id)) throw new UsageError(entry, 'every id once', `"${id}" again`);
    seen.add(id);
  }
  return [...seen];
}

/** Throws `UsageError`: no such file, or where it cannot be read. */
export async function readYaml(file: string, place: string, expected: string): Promise<unknown> {
  const text = await readText(file, place);
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof YAMLParseError)) {
      throw new UsageError(place, expected, (error as Error).message);
    }
    const [at] = error.linePos ?? [];
    const where = at ? `${place}, line ${at.line}, column ${at.col}` : place;
    throw new UsageError(where, expected, error.message.replace(/ at line[\s\S]*$/, ''));
  }
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'a folder',
  EACCES: 'no permission to read it',
  ELOOP: 'a symbolic link that leads to itself',
};
/** More is no file that a person has written: a million task ids are half of it. */
const MOST_BYTES = 64 * 2 ** 20;

async function readText(file: string, place: string): Promise<string> {
  const bytes = await readBytes(file, place);
  try {
    return textOf(bytes);
  } catch (error) {
    throw new UsageError(place, 'text in UTF-8', (error as Error).message);
  }
}

/** Never more than is looked at: it may be a device that has no end. */
async function readBytes(file: string, place: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of createReadStream(file) as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > MOST_BYTES) break;
      parts.push(part);
    }
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new UsageError(place, 'a readable file', UNREADABLE[code] ?? message);
  }
  if (size > MOST_BYTES) throw new UsageError(place, 'at most 64 MiB', 'more');
  return Buffer.concat(parts);
}

/** Throws what it is instead. */
function textOf(bytes: Buffer): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) throw new Error('UTF-16');
  const zero = bytes.indexOf(0);
  if (zero >= 0) throw new Error(`a zero byte at position ${zero}: UTF-16 without its mark, or no text`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('bytes of another encoding, or no text');
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'an empty file';
  return typeof value === 'object' ? 'keys with values' : `a ${typeof value}`;
}
