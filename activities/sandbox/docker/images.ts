/**
 * Which image is meant. Names that can be moved to another image are never started: what a suite calls by name is
 * looked up in what was built on this machine (`<home>/images.json`), and there stands an image id.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { UsageError } from '../../../core/faults.js';

export type BuiltImages = Readonly<Record<string, string>>;

const FILE = 'images.json';

/** Name → image id. Empty where none was built. */
export async function builtImages(home: string): Promise<BuiltImages> {
  try {
    return JSON.parse(await readFile(join(home, FILE), 'utf8')) as BuiltImages;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    const found = error instanceof Error ? error.message : String(error);
    throw new UsageError(join(home, FILE), 'image ids by name, as JSON', found, 'Build the images again.');
  }
}

export async function rememberImage(home: string, name: string, id: string): Promise<void> {
  const images = { ...(await builtImages(home)), [name]: id };
  await mkdir(home, { recursive: true });
  const temporary = join(home, `${FILE}.${process.pid}.tmp`);
  await writeFile(temporary, `${JSON.stringify(images, null, 2)}\n`);
  await rename(temporary, join(home, FILE));
}

/** The reference to start. Throws `UsageError` for a name that was not built here. */
export function imageByDigest(image: string, built: BuiltImages): string {
  if (/^(?:[^@\s]+@)?sha256:[0-9a-f]{64}$/.test(image)) return image;
  const id = built[image];
  if (id !== undefined) return id;
  const [name] = image.split(':');
  const others = Object.keys(built).filter((other) => other.startsWith(`${name}:`));
  const found = others.length === 0 ? `"${image}"` : `"${image}", and ${others.join(', ')} of other versions`;
  const expected = 'a digest, or the name of an image that was built here';
  throw new UsageError('image', expected, found, fixOf(image));
}

/** Throws `UsageError` when the engine has no such image. */
export async function requireImage(docker: Docker, image: string, built: BuiltImages): Promise<void> {
  const id = imageByDigest(image, built);
  try {
    await docker.getImage(id).inspect();
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== 404) throw error;
    const named = id === image ? image : `${image} (${id})`;
    throw new UsageError('image', `${named} in the Docker engine`, 'no such image', fixOf(image));
  }
}

/** Label of an image: the command of its relay (relay/), as a JSON list. Only containers with endpoints need one. */
const RELAY_LABEL = 'steadfast.relay';

/** Throws `UsageError` for an image without a relay. */
export async function relayCommand(docker: Docker, id: string): Promise<readonly string[]> {
  const { Config } = await docker.getImage(id).inspect();
  const label = Config.Labels?.[RELAY_LABEL];
  try {
    const command = JSON.parse(label ?? '[]') as unknown;
    if (Array.isArray(command) && command.length > 0) return command.map(String);
  } catch {
    // Said below, with what stands there.
  }
  const expected = `label ${RELAY_LABEL} with the relay's command, since its containers have endpoints`;
  throw new UsageError(`image ${id}`, expected, label ?? 'none', 'docs/sandboxes.md says how to add one.');
}

function fixOf(image: string): string {
  const name = /^steadfast\/([a-z0-9._-]+):/.exec(image)?.[1];
  return name === undefined
    ? `Pull it: docker pull ${image}`
    : `Build it: steadfast sandbox image build ${name}`;
}
