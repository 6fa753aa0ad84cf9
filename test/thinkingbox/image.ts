/** The image of a suite's servers, made and given to an engine of tests. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { type EngineSettings, openEngine } from '../../activities/sandbox/docker/engine.js';
import { rememberImage } from '../../activities/sandbox/docker/images.js';
import type { ImageArchive } from '../../infra/images/archive.js';
import { loadImage } from '../../infra/images/load.js';
import { pythonImage } from '../../infra/images/python-image.js';
import type { ThinkingBoxSuite } from '../../suites/thinkingbox/suite.js';

/** `home`: where images are written down, and a driver finds them. */
export async function builtImage(
  suite: ThinkingBoxSuite,
  home: string,
  settings: EngineSettings,
): Promise<ImageArchive> {
  const [tag] = suite.images as readonly [string];
  const archive = await pythonImage(await suite.serverImage(await mkdtemp(join(home, 'code-'))));
  await rememberImage(home, tag, await loadImage(await openEngine(settings), archive, tag));
  return archive;
}
