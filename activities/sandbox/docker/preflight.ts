/** Whether containers can be had here, asked before a campaign begins. */
import { UsageError } from '../../../core/faults.js';
import type { Suite } from '../../../core/suite.js';
import { checkEngine, type EngineSettings, openEngine } from './engine.js';
import { builtImages, requireImage } from './images.js';

/**
 * Throws `UsageError`: no engine, one that is too old or lacks the runtime, a suite that has no container form, an
 * image that is not there.
 */
export async function requireContainers(
  suite: Pick<Suite, 'name' | 'images'>,
  home: string,
  settings: EngineSettings,
): Promise<void> {
  if (!suite.images) {
    throw new UsageError(`suite ${suite.name}`, 'a form that runs in containers', 'none');
  }
  const engine = await openEngine(settings);
  await checkEngine(engine, settings);
  const built = await builtImages(home);
  for (const image of suite.images) await requireImage(engine, image, built);
}
