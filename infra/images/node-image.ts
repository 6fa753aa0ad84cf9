/**
 * An image for one program of ours, made without a registry: this machine's `node`, the libraries that it is loaded
 * with, and the program bundled into one file. Nothing else: no shell, no package manager.
 */
import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { ROOT } from '../setup/root.mjs';
import { type ImageArchive, imageArchive } from './archive.js';
import { librariesOf } from './libraries.js';
import { startupSnapshot } from './snapshot.js';
import type { TarEntry } from './tar.js';

const NODE = '/usr/local/bin/node';
const PROGRAM = '/app/server.mjs';
const SNAPSHOT = '/app/server.blob';
const RELAY = '/app/relay.mjs';

export interface ProgramImage {
  /** `name:tag`. */
  readonly tag: string;
  /** Absolute path of the JavaScript or TypeScript file that it starts with. */
  readonly entry: string;
  /** Of the relay through which a container reaches its endpoints, for servers that have some. */
  readonly relay?: string;
  /** For a program that can be loaded ahead (snapshot.ts): the folder where its snapshots are kept. */
  readonly snapshots?: string;
}

export async function programImage({ tag, entry, relay, snapshots }: ProgramImage): Promise<ImageArchive> {
  const node = await readFile(process.execPath);
  const program: TarEntry =
    snapshots === undefined
      ? { path: inside(PROGRAM), mode: 0o644, content: await bundled(entry) }
      : {
          path: inside(SNAPSHOT),
          mode: 0o644,
          content: await startupSnapshot(await bundled(entry, 'cjs'), node, snapshots),
        };
  const libraries = await librariesOf([process.execPath]);
  const files: TarEntry[] = [
    { path: inside(NODE), mode: 0o755, content: node },
    program,
    ...(relay === undefined ? [] : [{ path: inside(RELAY), mode: 0o644, content: await bundled(relay) }]),
    ...(await Promise.all(
      libraries.map(async (path) => ({ path: inside(path), mode: 0o755, content: await readFile(path) })),
    )),
  ];
  return imageArchive({
    tag,
    files,
    // Arguments stand where they stand for a program that is a file.
    entrypoint: snapshots === undefined ? [NODE, PROGRAM] : [NODE, '--snapshot-blob', SNAPSHOT, 'server'],
    labels: {
      'steadfast.node': process.versions.node,
      ...(relay === undefined ? {} : { 'steadfast.relay': JSON.stringify([NODE, RELAY]) }),
    },
  });
}

/** One file, as small as it gets: a server that starts for every try reads it every time. */
export async function bundled(entry: string, format: 'esm' | 'cjs' = 'esm'): Promise<Buffer> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    legalComments: 'none',
    platform: 'node',
    target: 'node20',
    format,
    write: false,
    logLevel: 'silent',
  });
  return Buffer.from(outputFiles[0]!.contents);
}

function inside(path: string): string {
  return path.slice(1);
}
