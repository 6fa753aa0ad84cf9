/** Copies of a checkpoint folder that must not be restored: half-written, truncated, bit-flipped, foreign, forged. */
import { createHash } from 'node:crypto';
import { copyFile, link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CheckpointManifest } from '../../../core/trainer.js';

export const MANIFEST = 'manifest.json';

export interface Damage {
  readonly what: string;
  /** Spoils the copy in `dir`. */
  readonly spoil: (dir: string) => Promise<void>;
}

/** Every way in which one checkpoint can be spoilt; `other` is an intact checkpoint of other weights. */
export function damages(manifest: CheckpointManifest, other: string): readonly Damage[] {
  const files = manifest.files.map(({ name }) => name);
  const largest = manifest.files.toSorted((a, b) => b.bytes - a.bytes)[0]!.name;
  return [
    { what: 'no manifest: its writer died', spoil: (dir) => rm(path.join(dir, MANIFEST)) },
    { what: 'half a manifest', spoil: (dir) => change(dir, MANIFEST, half) },
    ...files.flatMap((name): Damage[] => [
      { what: `no ${name}`, spoil: (dir) => rm(path.join(dir, name)) },
      { what: `half of ${name}`, spoil: (dir) => change(dir, name, half) },
      { what: `one bit of ${name}`, spoil: (dir) => change(dir, name, flip) },
    ]),
    {
      what: `${largest} of another checkpoint`,
      spoil: (dir) => replace(dir, largest, path.join(other, largest)),
    },
    {
      what: `${largest} of another checkpoint, with its size and SHA-256 in the manifest`,
      spoil: async (dir) => {
        await replace(dir, largest, path.join(other, largest));
        const bytes = await readFile(path.join(dir, largest));
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        await changeManifest(dir, (known) => ({
          ...known,
          files: known.files.map((file) =>
            file.name === largest ? { ...file, bytes: bytes.length, sha256 } : file,
          ),
        }));
      },
    },
    {
      what: 'another build of the trainer',
      spoil: (dir) => changeManifest(dir, (known) => ({ ...known, trainerBuild: 'another build' })),
    },
    {
      what: 'another format',
      spoil: (dir) => changeManifest(dir, (known) => ({ ...known, format: 2 })),
    },
    {
      what: 'other weights in the manifest',
      spoil: (dir) =>
        changeManifest(dir, (known) => ({ ...known, weightDigest: `sha256:${'0'.repeat(64)}` })),
    },
    {
      what: 'an operation struck from the manifest',
      spoil: (dir) => changeManifest(dir, (known) => ({ ...known, appliedOps: [] })),
    },
  ];
}

/** Files are linked where they can be: a checkpoint may be large. */
export async function copyCheckpoint(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    const [source, target] = [path.join(from, name), path.join(to, name)];
    await link(source, target).catch(() => copyFile(source, target));
  }
}

function half(bytes: Buffer): Buffer {
  return bytes.subarray(0, Math.floor(bytes.length / 2));
}

function flip(bytes: Buffer): Buffer {
  const at = Math.floor(bytes.length / 2);
  bytes[at] = bytes[at]! ^ 1;
  return bytes;
}

/** Writes a new file in place of the old: the old one may be a link to the original. */
async function change(dir: string, name: string, how: (bytes: Buffer) => Buffer): Promise<void> {
  const file = path.join(dir, name);
  const bytes = how(await readFile(file));
  await rm(file);
  await writeFile(file, bytes);
}

async function replace(dir: string, name: string, from: string): Promise<void> {
  await rm(path.join(dir, name));
  await copyFile(from, path.join(dir, name));
}

async function changeManifest(dir: string, how: (manifest: CheckpointManifest) => object): Promise<void> {
  await change(dir, MANIFEST, (bytes) =>
    Buffer.from(JSON.stringify(how(JSON.parse(bytes.toString()) as CheckpointManifest), null, 1)),
  );
}
