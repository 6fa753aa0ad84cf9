/** Whether containers can be had here, asked before a campaign begins. */
import { UsageError } from '../../../core/faults.js';
import type { Suite } from '../../../core/suite.js';
import { requireApproved } from './endpoints.js';
import { checkEngine, type EngineSettings, openEngine } from './engine.js';
import { builtImages, imageByDigest, relayCommand, requireImage } from './images.js';
import { requireReachable } from './relay/reachable.js';

/**
 * Throws `UsageError`: no engine, one that is too old or lacks the runtime, a suite that has no container form, an
 * image that is not there, endpoints that nobody has approved or that do not answer.
 */
export async function requireContainers(
  suite: Pick<Suite, 'name' | 'images' | 'endpoints'>,
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
  const { endpoints = [] } = suite;
  if (endpoints.length === 0) return;
  requireApproved(endpoints, settings.endpoints ?? []);
  for (const image of suite.images) await relayCommand(engine, imageByDigest(image, built));
  await Promise.all(endpoints.map(requireReachable));
}
