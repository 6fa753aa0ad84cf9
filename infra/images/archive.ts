/**
 * An image of one layer, in the form that `docker save` writes and `docker load` reads. Its id is the digest of its
 * configuration, which names the digest of the layer: the same files give the same image.
 */
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { type TarEntry, tar } from './tar.js';

const EPOCH = '1970-01-01T00:00:00Z';

export interface ImageSpec {
  /** `name:tag`, by which the engine shows it. */
  readonly tag: string;
  readonly files: readonly TarEntry[];
  readonly entrypoint: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export interface ImageArchive {
  /** `sha256:…` of the configuration. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** Nobody on any host: an id that no user has. */
const USER = '65532:65532';
/** The only folder that can be written, in memory. */
const TEMPORARY: TarEntry = { path: 'tmp', mode: 0o1777 };

/** The folders of the files are made. Every image runs as nobody, in `/tmp`. */
export function imageArchive({ tag, files, entrypoint, labels }: ImageSpec): ImageArchive {
  const layer = tar([...foldersOf(files), TEMPORARY, ...files]);
  const config = Buffer.from(
    JSON.stringify({
      architecture: architecture(),
      config: {
        Entrypoint: entrypoint,
        Env: ['PATH=/usr/local/bin:/usr/bin:/bin'],
        Labels: labels,
        User: USER,
        WorkingDir: '/tmp',
      },
      created: EPOCH,
      history: [{ created: EPOCH, created_by: 'steadfast sandbox image build' }],
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  );
  const id = sha256(config);
  const manifest = [{ Config: `${id}.json`, RepoTags: [tag], Layers: ['layer.tar'] }];
  const bytes = tar([
    { path: `${id}.json`, mode: 0o644, content: config },
    { path: 'layer.tar', mode: 0o644, content: layer },
    { path: 'manifest.json', mode: 0o644, content: Buffer.from(JSON.stringify(manifest)) },
  ]);
  return { id: `sha256:${id}`, bytes };
}

function foldersOf(files: readonly TarEntry[]): TarEntry[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  folders.delete(TEMPORARY.path);
  return [...folders].map((path) => ({ path, mode: 0o755 }));
}

/** In the words of image configurations. */
function architecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
