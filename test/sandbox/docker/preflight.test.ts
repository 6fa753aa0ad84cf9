/** What is wrong with an engine or an image is said before anything starts. The engines here only say what they are. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openEngine } from '../../../activities/sandbox/docker/engine.js';
import { imageByDigest } from '../../../activities/sandbox/docker/images.js';
import { requireContainers } from '../../../activities/sandbox/docker/preflight.js';

const ID = `sha256:${'a'.repeat(64)}`;
const suite = { name: 'desks', images: ['steadfast/desks:1'] };
const ending: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

/** An engine that answers `/version`, `/info`, and one image. */
async function engine(version: object): Promise<{ home: string; host: string }> {
  const home = await mkdtemp('/tmp/sf-engine-');
  const server: Server = createServer((request, reply) => {
    const url = request.url ?? '';
    const answers: Readonly<Record<string, object>> = {
      '/version': { ApiVersion: '1.45', Version: '26', Os: 'linux', ...version },
      '/info': { Runtimes: { runc: {} } },
      [`/images/${ID}/json`]: { Id: ID },
    };
    const answer = Object.entries(answers).find(([path]) => url.endsWith(path))?.[1];
    reply.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    reply.end(JSON.stringify(answer ?? { message: 'no such image' }));
  });
  const socket = join(home, 'engine.sock');
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  ending.push(() => new Promise((resolve) => server.close(resolve)));
  ending.push(() => rm(home, { recursive: true, force: true }));
  return { home, host: `unix://${socket}` };
}

const built = (home: string, images: unknown) =>
  writeFile(join(home, 'images.json'), typeof images === 'string' ? images : JSON.stringify(images));

describe('before a campaign', () => {
  test('an engine of today with the image', async () => {
    const { home, host } = await engine({});
    await built(home, { 'steadfast/desks:1': ID });
    await requireContainers(suite, home, { host });
  });

  test.each([
    [
      'too old',
      { ApiVersion: '1.40', Version: '19.03' },
      /API 1\.41 or newer .* found API 1\.40 \(Docker 19\.03\)/,
    ],
    ['of another system', { Os: 'windows' }, /expected Linux containers, found windows/],
  ])('an engine that is %s', async (_name, version, message) => {
    const { home, host } = await engine(version);
    await expect(requireContainers(suite, home, { host })).rejects.toThrow(message);
  });

  test('no engine, no runtime, no container form', async () => {
    const { home, host } = await engine({});
    const nowhere = { host: 'unix:///tmp/no-such-engine.sock' };
    await expect(requireContainers(suite, home, nowhere)).rejects.toThrow(
      /expected one that answers.*ENOENT/,
    );
    await expect(requireContainers(suite, home, { host: 'podman' })).rejects.toThrow(/DOCKER_HOST/);
    await expect(requireContainers(suite, home, { host, runtime: 'runsc' })).rejects.toThrow(
      /STEADFAST_DOCKER_RUNTIME: expected a runtime of the engine: runc, found "runsc"/,
    );
    await expect(requireContainers({ name: 'x' }, home, { host })).rejects.toThrow(/suite x/);
  });

  test('an image that was never built, that the engine lost, a list that is no list', async () => {
    const { home, host } = await engine({});
    const build = /Build it: steadfast sandbox image build desks/;
    await expect(requireContainers(suite, home, { host })).rejects.toThrow(build);
    await built(home, { 'steadfast/desks:1': `sha256:${'b'.repeat(64)}` });
    await expect(requireContainers(suite, home, { host })).rejects.toThrow(build);
    await built(home, '{');
    await expect(requireContainers(suite, home, { host })).rejects.toThrow(
      /images\.json: expected image ids/,
    );
  });
});

test('only a digest is ever started', () => {
  expect(imageByDigest(ID, {})).toBe(ID);
  expect(imageByDigest(`registry/a:1@${ID}`, {})).toBe(`registry/a:1@${ID}`);
  for (const name of ['debian', 'debian:12', 'sha256:abc'])
    expect(() => imageByDigest(name, {})).toThrow(/a digest/);
});

test('an engine elsewhere is the one that was asked for, whatever this shell says', async () => {
  const before = process.env.DOCKER_HOST;
  const { modem } = await openEngine({ host: 'tcp://127.0.0.1:23750' });
  expect(modem).toMatchObject({ host: '127.0.0.1', port: '23750', protocol: 'http' });
  expect(process.env.DOCKER_HOST).toBe(before);
  await expect(openEngine({ host: 'tcp://a b' })).rejects.toThrow(/DOCKER_HOST: expected/);
});
