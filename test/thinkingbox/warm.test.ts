/** Sessions forked from warm servers, on servers of our own: as good as programs, and ended as surely. No checkout needed. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createProcessDriver } from '../../activities/sandbox/process.js';
import { killNow, markedProcesses, processStart } from '../../activities/sandbox/process-identity.js';
import type { JsonObject } from '../../core/message.js';
import type { Sandbox, SandboxDriver, ServerSpec } from '../../core/sandbox.js';
import { nativeFile } from '../../suites/thinkingbox/native.js';
import { pythonEnvironment } from '../../suites/thinkingbox/python.js';
import { preparedPython } from './given.js';

const MINI = fileURLToPath(new URL('mini', import.meta.url));
const SLOW_MS = 300_000;
const { signal } = new AbortController();
const CALL = { signal, timeoutMs: 60_000 };

let home = '';
let python = '';
let driver: SandboxDriver;
let made = 0;
const open: Sandbox[] = [];

beforeAll(async () => {
  python = await preparedPython();
  home = await mkdtemp(join(tmpdir(), 'warm servers '));
  driver = createProcessDriver(home);
}, SLOW_MS);
afterEach(async () => {
  for (const sandbox of open.splice(0)) await sandbox.release();
});
afterAll(() => rm(home, { recursive: true, force: true }));

function spec(module: string, start: 'forked' | 'stdio', name = 'shelf'): ServerSpec {
  const env = pythonEnvironment(python, { thinkingboxDir: '/nowhere', dataDir: MINI });
  const run = (script: string) => ({ file: python, args: [nativeFile(script), module], env });
  return {
    name,
    command: run('serve.py'),
    ...(start === 'forked' ? { warm: run('warm.py') } : {}),
    startTimeoutMs: 60_000,
  };
}

async function create(...servers: ServerSpec[]): Promise<Sandbox> {
  made += 1;
  const sandbox = await driver.create({ name: `warm-${process.pid}-${made}`, servers, signal });
  open.push(sandbox);
  return sandbox;
}

async function ask(sandbox: Sandbox, tool: string, args: JsonObject = {}, server = 'shelf') {
  return (await sandbox.tools.call(server, tool, args, CALL)).text;
}

interface Where {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly files: number;
  readonly cpu: number;
  readonly core: number;
}

async function where(sandbox: Sandbox, server = 'shelf'): Promise<Where> {
  return JSON.parse(await ask(sandbox, 'where', {}, server)) as Where;
}

describe.each(['forked', 'stdio'] as const)('%s servers', (start) => {
  test('keep their state apart, take their start state as text, and report it', {
    timeout: SLOW_MS,
  }, async () => {
    const [one, two] = await Promise.all([
      create(spec('shelf_server', start)),
      create(spec('shelf_server', start)),
    ]);
    const config = '{"books": ["atlas"], "room": 7.0}';
    expect(await ask(one, '__reserved__init_text', { config })).toBe('{"status": "ok", "room": 7.0}');
    await ask(one, 'put', { title: 'novel' });
    expect(JSON.parse(await ask(one, '__reserved__geteffects'))).toMatchObject({ books: ['atlas', 'novel'] });
    expect(JSON.parse(await ask(two, '__reserved__geteffects'))).toMatchObject({ books: [] });
  });

  test('numbers arrive as they were written', { timeout: SLOW_MS }, async () => {
    const sandbox = await create(spec('shelf_server', start));
    const exact = '{"title": "atlas", "notes": {"grams": 300.0, "code": 12345678901234567890}}';
    const weighed = await sandbox.tools.call('shelf', 'weigh', JSON.parse(exact) as JsonObject, {
      ...CALL,
      exact,
    });
    expect(JSON.parse(weighed.text)).toEqual({ grams: '300.0', code: '12345678901234567890' });
  });
});

describe('forked sessions', () => {
  test('are processes of their own: group, folder, limits, an environment without ours', {
    timeout: SLOW_MS,
  }, async () => {
    process.env.STEADFAST_CANARY = 'must not be seen';
    const sandbox = await create(spec('shelf_server', 'forked'));
    const found = await where(sandbox);
    expect(found.group).toBe(found.pid);
    expect(found.cwd).toBe(join(home, 'sandboxes', sandbox.name, 'tmp'));
    expect(found.environment).toMatchObject({ HOME: found.cwd, TMPDIR: found.cwd, LANG: 'C.UTF-8' });
    expect(Object.keys(found.environment).filter((key) => key.startsWith('STEADFAST'))).toEqual([
      'STEADFAST_SANDBOX',
    ]);
    expect(found).toMatchObject({ files: 1_024, cpu: 900, core: 0 });
    if (process.platform === 'linux') expect(await markedProcesses(sandbox.name)).toEqual([found.pid]);
    await sandbox.release();
    await ended(found.pid);
    expect(existsSync(found.cwd)).toBe(false);
  });

  test.each([
    ['crash', { kind: 'sandbox', code: 'session_lost' }, /the shelf has collapsed/],
    ['hang', { kind: 'deadline' }, /misbehave/],
    ['flood', { kind: 'sandbox', code: 'session_lost' }, /a message longer than 16777216 bytes/],
  ])(
    'a server that does this in a call is one fault: %s',
    { timeout: SLOW_MS },
    async (how, fault, words) => {
      const [broken, other] = await Promise.all([
        create(spec('shelf_server', 'forked')),
        create(spec('shelf_server', 'forked')),
      ]);
      const timeoutMs = how === 'hang' ? 300 : 60_000;
      const call = broken.tools.call('shelf', 'misbehave', { how }, { signal, timeoutMs });
      const error = await call.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject(fault);
      expect((error as Error).message).toMatch(words);
      // Nobody else notices.
      expect(await ask(other, 'put', { title: 'novel' })).toContain('ok');
      expect(await ask(await create(spec('shelf_server', 'forked')), 'put', { title: 'x' })).toContain('ok');
    },
  );

  test('what a server prints disturbs nothing', { timeout: SLOW_MS }, async () => {
    const sandbox = await create(spec('shelf_server', 'forked'));
    expect(await ask(sandbox, 'misbehave', { how: 'chatter' })).toBe('well');
  });

  test('what a server starts is ended with it, wherever it has gone', { timeout: SLOW_MS }, async () => {
    const sandbox = await create(spec('shelf_server', 'forked'));
    await ask(sandbox, 'misbehave', { how: 'fork' });
    // A program that is just being started shows no environment yet.
    if (process.platform === 'linux')
      await expect.poll(() => markedProcesses(sandbox.name), { timeout: 60_000 }).toHaveLength(4);
    await sandbox.release();
    expect(await markedProcesses(sandbox.name)).toEqual([]);
  });

  test('another worker reaps by name what a killed one has left', { timeout: SLOW_MS }, async () => {
    const sandbox = await create(spec('shelf_server', 'forked'));
    const { pid } = await where(sandbox);
    expect(await createProcessDriver(home).reap(sandbox.name)).toBe(true);
    await ended(pid);
    expect(await createProcessDriver(home).reap(sandbox.name)).toBe(false);
    await expect(ask(sandbox, 'where')).rejects.toMatchObject({ kind: 'sandbox', code: 'session_lost' });
  });

  test('one that dies while its start state is set is a fault of the sandbox', {
    timeout: SLOW_MS,
  }, async () => {
    const sandbox = await create(spec('shelf_server', 'forked'));
    await expect(ask(sandbox, '__reserved__init_text', { config: '{"die": true}' })).rejects.toMatchObject({
      kind: 'sandbox',
      code: 'session_lost',
    });
  });

  test('one that cannot be imported says why', { timeout: SLOW_MS }, async () => {
    const failed = await create(spec('unfinished_server', 'forked')).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ kind: 'sandbox', code: 'start_failed' });
    expect((failed as Error).message).toContain('the shelf was never built');
  });
});

describe('a warm server', () => {
  test('is started once for all its sessions', { timeout: SLOW_MS }, async () => {
    const sessions = await Promise.all([1, 2, 3].map(() => create(spec('shelf_server', 'forked'))));
    const parents = new Set(
      (await Promise.all(sessions.map((one) => where(one)))).map(({ parent }) => parent),
    );
    expect(parents.size).toBe(1);
  });

  test('that is killed takes its sessions with it, and the next session starts another', {
    timeout: SLOW_MS,
  }, async () => {
    const sandbox = await create(spec('shelf_server', 'forked'));
    const { pid, parent } = await where(sandbox);
    killNow(parent);
    await expect(ask(sandbox, 'misbehave', { how: 'hang' })).rejects.toMatchObject({ code: 'session_lost' });
    await sandbox.release();
    await ended(pid);
    const next = await where(await create(spec('shelf_server', 'forked')));
    expect(next.parent).not.toBe(parent);
  });

  test('that has threads is not forked: its sessions are programs of their own', {
    timeout: SLOW_MS,
  }, async () => {
    const [one, two] = await Promise.all([
      create(spec('threaded_server', 'forked')),
      create(spec('threaded_server', 'forked')),
    ]);
    expect((await where(one)).parent).toBe(process.pid);
    expect((await where(two)).parent).toBe(process.pid);
  });

  test('several servers of one sandbox are several sessions', { timeout: SLOW_MS }, async () => {
    const sandbox = await create(
      spec('shelf_server', 'forked', 'left'),
      spec('shelf_server', 'forked', 'right'),
    );
    await ask(sandbox, 'put', { title: 'atlas' }, 'left');
    expect(JSON.parse(await ask(sandbox, '__reserved__geteffects', {}, 'right'))).toMatchObject({
      books: [],
    });
    expect((await where(sandbox, 'left')).pid).not.toBe((await where(sandbox, 'right')).pid);
  });
});

/** A process that has ended and waits for its parent to notice has ended. */
/** What was killed is there until it has died and its parent has noticed. */
async function ended(pid: number): Promise<void> {
  await expect.poll(() => alive(pid), { timeout: 60_000 }).toBe(false);
}

async function alive(pid: number): Promise<boolean> {
  return (await processStart(pid)) !== undefined;
}
