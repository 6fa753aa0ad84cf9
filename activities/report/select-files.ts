/** The files of a selection: rows and exclusions read, outputs written so that a manifest always fits what lies beside it. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { UsageError } from '../../core/faults.js';
import { sortedJson } from '../../core/selection/names.js';
import type { RowReader } from '../../core/selection/rows.js';
import { type Tally, TallyBuilder } from '../../core/selection/tally.js';
import { forEachLine, readable } from './json-lines.js';

export interface CountedRows {
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly rows: number;
  /** SHA-256 per file, in the order given. */
  readonly sha256: readonly string[];
  /** Byte-identical rows left out. */
  readonly dropped: number;
  readonly warnings: readonly string[];
}

/** Counts the rows of all files, read once each. Throws `UsageError` naming file, line and field. */
export async function countRows(
  files: readonly string[],
  read: RowReader,
  dropIdentical: boolean,
): Promise<CountedRows> {
  const builder = new TallyBuilder();
  const lines = new Set<string>();
  const sha256: string[] = [];
  let dropped = 0;
  for (const file of files) {
    const facts = await forEachLine(file, (line, number) => {
      if (dropIdentical) {
        const digest = createHash('sha256').update(line).digest('base64');
        if (lines.has(digest)) {
          dropped += 1;
          return;
        }
        lines.add(digest);
      }
      builder.add(
        read(line, () => `${file}:${number}`),
        file,
        number,
      );
    });
    sha256.push(facts.sha256);
  }
  return { tallies: builder.tallies(), rows: builder.rows, sha256, dropped, warnings: builder.warnings() };
}

/** Task ids: a list, or an object whose only key is `uids`; JSON where the name ends in `.json`, else YAML. */
export async function readIdList(file: string): Promise<{ uids: ReadonlySet<string>; sha256: string }> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw readable(error, file);
  });
  const value = file.endsWith('.json')
    ? parseJson(bytes.toString('utf8'), file)
    : parseYaml(bytes.toString('utf8'), file);
  const list = uidsOf(value, file);
  const uids = new Set<string>();
  for (const [index, uid] of list.entries()) {
    const place = `${file}, entry ${index + 1}`;
    if (typeof uid !== 'string' || uid === '')
      throw new UsageError(place, 'a non-empty string', JSON.stringify(uid));
    if (uids.has(uid)) throw new UsageError(place, 'each id once', `"${uid}" again`);
    uids.add(uid);
  }
  return { uids, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Every name that a selection, a split or a picture of one may have. */
const OUTPUT_NAMES = [
  'selected.yaml',
  'train.yaml',
  'test.yaml',
  'aggregates.jsonl',
  'histogram.svg',
  'manifest.json',
];

/** Content of one output: text, or a function that gives its parts, for what is too large to hold. */
export type OutputDocument = string | (() => Iterable<string>);

/**
 * Writes the documents (by file name) and the manifest, which gets their SHA-256 as `output_sha256`.
 *
 * An output that lies there already with other content, or that belongs to another mode, is refused with `UsageError`
 * and replaced only with `force`. The old manifest goes first and the new one comes last: what a crash leaves behind
 * has no manifest. Writing the same selection again is no error.
 */
export async function writeSelection(
  folder: string,
  documents: Readonly<Record<string, OutputDocument>>,
  manifest: Readonly<Record<string, unknown>>,
  force: boolean,
): Promise<void> {
  const hashes = Object.fromEntries(Object.entries(documents).map(([name, text]) => [name, sha256Of(text)]));
  const manifestText = `${sortedJson({ ...manifest, output_sha256: hashes })}\n`;
  const all = { ...documents, 'manifest.json': manifestText };
  const wanted: Readonly<Record<string, string>> = { ...hashes, 'manifest.json': sha256Of(manifestText) };
  await mkdir(folder, { recursive: true });
  const present = (await readdir(folder)).filter((name) => OUTPUT_NAMES.includes(name));
  const foreign: string[] = [];
  for (const name of present) {
    if ((await fileSha256(join(folder, name))) !== wanted[name]) foreign.push(name);
  }
  if (foreign.length === 0 && present.length === Object.keys(all).length) return;
  if (foreign.length > 0 && !force) {
    throw new UsageError(
      '--output-dir',
      'a folder without another selection',
      `${foreign.join(', ')} in ${folder}`,
      'Choose another folder, or replace them with --force.',
    );
  }
  await rm(join(folder, 'manifest.json'), { force: true });
  for (const name of foreign) await rm(join(folder, name), { force: true });
  for (const [name, text] of Object.entries(all)) await writeDurably(folder, name, text);
}

async function writeDurably(folder: string, name: string, text: OutputDocument): Promise<void> {
  const temporary = join(folder, `.${name}.${process.pid}.tmp`);
  const file = await open(temporary, 'w');
  try {
    for (const block of blocks(text)) await file.writeFile(block);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function uidsOf(value: unknown, file: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'object' && value !== null) {
    const keys = Object.keys(value);
    const uids = (value as Record<string, unknown>).uids;
    if (keys.length === 1 && Array.isArray(uids)) return uids;
  }
  throw new UsageError(file, 'a list of ids, or an object whose only key is "uids"', describe(value));
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'nothing' : typeof value;
  return `an object with keys ${Object.keys(value).slice(0, 5).join(', ')}`;
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(file, 'JSON', (error as Error).message);
  }
}

function parseYaml(text: string, file: string): unknown {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error)
    throw new UsageError(
      `${file}:${error.linePos?.[0].line ?? 1}`,
      'YAML',
      error.message.split('\n')[0] ?? '',
    );
  return document.toJS();
}

function sha256Of(document: OutputDocument): string {
  const hash = createHash('sha256');
  for (const block of blocks(document)) hash.update(block);
  return hash.digest('hex');
}

/** The document in blocks of about a megabyte, so that a million short parts are not a million writes. */
function* blocks(document: OutputDocument): Generator<string> {
  let block = '';
  for (const part of typeof document === 'string' ? [document] : document()) {
    block += part;
    if (block.length < 1 << 20) continue;
    yield block;
    block = '';
  }
  if (block !== '') yield block;
}

async function fileSha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) hash.update(chunk);
  return hash.digest('hex');
}
