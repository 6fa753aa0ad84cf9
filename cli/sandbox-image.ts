/** Makes images of tool servers, writes what others make them of, and remembers which are used. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { checkEngine, engineSettings, openEngine } from '../activities/sandbox/docker/engine.js';
import { rememberImage } from '../activities/sandbox/docker/images.js';
import { UsageError } from '../core/faults.js';
import type { Suite } from '../core/suite.js';
import type { ImageArchive } from '../infra/images/archive.js';
import { loadImage } from '../infra/images/load.js';
import { homeFolder } from '../infra/setup/root.mjs';
import type { ThinkingBoxSuite } from '../suites/thinkingbox/suite.js';
import { print, printJson, say } from './output.js';
import { withSuite } from './run/suite.js';

interface Options {
  readonly json?: true;
}

export async function build(name: string, { json }: Options): Promise<void> {
  const docker = await openedEngine();
  await withSuite(name, async (suite) => {
    const tag = tagOf(suite);
    const archive = await archiveOf(suite, tag);
    const id = await loadImage(docker, archive, tag);
    await rememberImage(homeFolder(), tag, id);
    if (json) printJson({ tag, id, bytes: archive.bytes.length });
    else {
      print(`${tag}  ${id}`);
      say(`${(archive.bytes.length / 1e6).toFixed(0)} MB. Used where STEADFAST_ISOLATION=docker.`);
    }
  });
}

export async function context(name: string, folder: string): Promise<void> {
  const { writeContext } = await import('../infra/images/context.js');
  const to = resolve(folder);
  await withSuite(name, async (suite) => {
    tagOf(suite);
    if (isThinkingBox(suite)) {
      await writeContext(to, 'thinkingbox.Dockerfile', await suite.serverFiles());
    } else {
      const { stdioEntry } = await import('../suites/deskbench/suite.js');
      const { bundled } = await import('../infra/images/node-image.js');
      const files = [{ path: '/app/server.mjs', from: await bundled(stdioEntry()) }];
      await writeContext(to, 'deskbench.Dockerfile', files);
    }
  });
  print(`docker build -t steadfast/${name} ${folder}`);
  say(`Then: steadfast sandbox image use ${name} steadfast/${name}`);
}

export async function use(name: string, image: string, { json }: Options): Promise<void> {
  const docker = await openedEngine();
  await withSuite(name, async (suite) => {
    const tag = tagOf(suite);
    const found = await docker
      .getImage(image)
      .inspect()
      .catch((error: unknown) => {
        if ((error as { statusCode?: number }).statusCode !== 404) throw error;
        throw new UsageError('image', 'one that the Docker engine has', `"${image}"`);
      });
    await rememberImage(homeFolder(), tag, found.Id);
    if (json) printJson({ tag, id: found.Id, bytes: found.Size });
    else print(`${tag}  ${found.Id}`);
  });
}

async function openedEngine() {
  const settings = engineSettings(process.env);
  const docker = await openEngine(settings);
  await checkEngine(docker, settings);
  return docker;
}

function tagOf({ name, images = [] }: Suite): string {
  const [tag] = images;
  if (tag !== undefined) return tag;
  throw new UsageError(`suite ${name}`, 'a form that runs in containers', 'none');
}

async function archiveOf(suite: Suite, tag: string): Promise<ImageArchive> {
  if (!isThinkingBox(suite)) {
    const { stdioEntry } = await import('../suites/deskbench/suite.js');
    return (await import('../infra/images/node-image.js')).programImage({
      ...{ tag, entry: stdioEntry() },
      snapshots: join(homeFolder(), 'snapshots'),
    });
  }
  const { pythonImage } = await import('../infra/images/python-image.js');
  const folder = await mkdtemp(join(tmpdir(), 'steadfast-image-'));
  try {
    const image = await suite.serverImage(folder);
    for (const problem of image.problems) say(`not tried out: ${problem}`);
    return await pythonImage(image);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isThinkingBox(suite: Suite): suite is ThinkingBoxSuite {
  return 'serverImage' in suite;
}
