/**
 * Another OCI runtime than the engine's own: crun where this machine has it, else a second entry for the engine's runc.
 * Asked of a real engine that knows it by a name of its own.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createDockerDriver } from '../../../activities/sandbox/docker/driver.js';
import { engineSettings, openEngine } from '../../../activities/sandbox/docker/engine.js';
import { rememberImage } from '../../../activities/sandbox/docker/images.js';
import { requireContainers } from '../../../activities/sandbox/docker/preflight.js';
import { loadImage } from '../../../infra/images/load.js';
import { programImage } from '../../../infra/images/node-image.js';
import { noOwnEngine, type OwnEngine, ownEngine } from './own-engine.js';

const TAG = 'steadfast/hostile:test';
const never = new AbortController().signal;

const found = await engineOrWhy();
if ('why' in found) process.stderr.write(`another runtime is not tested: ${found.why}\n`);

describe.skipIf('why' in found)('another runtime', () => {
  const { home, engine } = found as Found;

  afterAll(async () => {
    await engine.stop();
    await rm(home, { recursive: true, force: true });
  });

  const settings = (name: string) =>
    engineSettings({ DOCKER_HOST: engine.settings.host, STEADFAST_DOCKER_RUNTIME: name });
  const suite = { name: 'hostile', images: [TAG] };

  test('runs every container when the operator names it, locked in as ever', async () => {
    await requireContainers(suite, home, settings('second'));
    const driver = createDockerDriver({ home, host: 'tests', engine: settings('second') });
    const container = { image: TAG, args: [], env: {} };
    const servers = [{ name: 'guest', container, startTimeoutMs: 30_000 }];
    const name = `sf-runtime-${process.pid}`;
    const sandbox = await driver.create({ name, servers, signal: never });
    try {
      const docker = await openEngine(engine.settings);
      expect((await docker.getContainer(name).inspect()).HostConfig.Runtime).toBe('second');
      const call = async (tool: string) =>
        (await sandbox.tools.call('guest', tool, {}, { signal: never, timeoutMs: 30_000 })).text;
      expect(await call('hello')).toBe('hello');
      expect(JSON.parse(await call('disk'))).toEqual({ temporary: 'ENOSPC', root: 'EROFS' });
      for (const how of Object.values(JSON.parse(await call('system')) as Record<string, string>)) {
        expect(how).toMatch(/^(EROFS|EACCES|EPERM|ENOENT)$/);
      }
      expect(JSON.parse(await call('network'))).toMatchObject({ interfaces: ['lo'] });
      await expect(call('memory')).rejects.toMatchObject({ code: 'out_of_memory' });
    } finally {
      await sandbox.release();
    }
    expect(await driver.living()).toEqual([]);
  });

  test('one that the engine does not know is said before a campaign', async () => {
    await expect(requireContainers(suite, home, settings('third'))).rejects.toThrow(
      /STEADFAST_DOCKER_RUNTIME: expected a runtime of the engine: .*second.*, found "third"/,
    );
  });
});

interface Found {
  readonly home: string;
  readonly engine: OwnEngine;
}

/** An engine with the image that runs containers at all. */
async function engineOrWhy(): Promise<Found | { readonly why: string }> {
  const why = noOwnEngine();
  if (why !== undefined) return { why };
  const home = await mkdtemp(join(tmpdir(), 'sf-runtime-'));
  let engine: OwnEngine | undefined;
  try {
    engine = await ownEngine(['--add-runtime', `second=${await runtime(home)}`]);
    const entry = fileURLToPath(new URL('fixtures/hostile.ts', import.meta.url));
    const archive = await programImage({ tag: TAG, entry });
    const docker = await openEngine(engine.settings);
    await rememberImage(home, TAG, await loadImage(docker, archive, TAG));
    const HostConfig = { NetworkMode: 'none', Memory: 64 * 2 ** 20, PidsLimit: 64 };
    const container = await docker.createContainer({ Image: TAG, Cmd: ['silent'], HostConfig });
    await container.start().finally(() => container.remove({ force: true }));
    return { home, engine };
  } catch (error) {
    await engine?.stop();
    await rm(home, { recursive: true, force: true });
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

async function runtime(folder: string): Promise<string> {
  if (!existsSync('/usr/bin/crun')) {
    return ['/usr/sbin/runc', '/usr/bin/runc'].find(existsSync) ?? 'runc';
  }
  // crun refuses a host with both versions of control groups mounted: it is shown the first only.
  if (!existsSync('/sys/fs/cgroup/unified')) return '/usr/bin/crun';
  const file = join(folder, 'crun');
  const hidden = 'umount /sys/fs/cgroup/unified; exec /usr/bin/crun "$@"';
  const script = `#!/bin/sh\nexec unshare -m --propagation slave sh -c '${hidden}' crun "$@"\n`;
  await writeFile(file, script, { mode: 0o755 });
  return file;
}
