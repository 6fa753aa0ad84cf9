/** Where the Python side of this adapter lies: beside the sources, or above `dist/` when this file was built into it. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PLACES = ['../../native/thinkingbox/', '../../../native/thinkingbox/'];

/** Path of a file of native/thinkingbox. */
export function nativeFile(name: string): string {
  const paths = PLACES.map((place) => fileURLToPath(new URL(place + name, import.meta.url)));
  return paths.find(existsSync) ?? (paths[0] as string);
}
