/** Renderers of real models, each made once a test file and only when it is asked for. */
import { Renderer } from '../../core/render/renderer.js';
import { MODEL_NAMES, type ModelName, modelFiles } from '../render-parity/models.js';

/** For hooks that load: the first run on a machine fetches files and makes a tokenizer of them. */
export const LOAD_MS = 300_000;

export type NamedRenderer = readonly [ModelName, () => Renderer];

/** Name and renderer of every model. */
export const ALL_MODELS: readonly NamedRenderer[] = MODEL_NAMES.map((name) => [
  name,
  once(() => new Renderer(modelFiles(name))),
]);

/** One of each vocabulary; the embedded policy's is the last. */
export const MODELS: readonly NamedRenderer[] = ALL_MODELS.filter(([name]) =>
  ['qwen3', 'qwen3.5', 'embedded'].includes(name),
);

export function rendererOf(name: ModelName): Renderer {
  return ALL_MODELS.find(([known]) => known === name)![1]();
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
