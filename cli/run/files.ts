/** The files that a person hands over: run files and lists of task ids, YAML or JSON. */
import { readFile } from 'node:fs/promises';
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
};

async function readText(file: string, place: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new UsageError(place, 'a readable file', UNREADABLE[code] ?? message);
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'an empty file';
  return typeof value === 'object' ? 'keys with values' : `a ${typeof value}`;
}
