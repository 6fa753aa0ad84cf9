/** The same expectations for every driver, then what only a process can do. Real programs, real MCP. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { createProcessDriver, PROCESS_LIMITS } from '../../activities/sandbox/process.js';
import { markedProcesses } from '../../activities/sandbox/process-identity.js';
import type { Sandbox, SandboxDriver, ServerSpec } from '../../core/sandbox.js';
import { requireTrusted } from '../../workers/suites.js';
import { processShelf } from '../episode/fixtures/shelf-program.js';
import { SHELF } from '../episode/fixtures/shelf-task.js';

const never = new AbortController().signal;
let home = '';
let count = 0;
const open: Sandbox[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sandboxes of tests-'));
});
afterAll(async () => {
  await Promise.all(open.map((sandbox) => sandbox.release()));
});

async function create(driver: SandboxDriver, spec: ServerSpec): Promise<Sandbox> {
  count += 1;
  const sandbox = await driver.create({ name: `t-${process.pid}-${count}`, servers: [spec], signal: never });
  open.push(sandbox);
  return sandbox;
}

const call = (sandbox: Sandbox, tool: string, args = {}, timeoutMs = 10_000) =>
  sandbox.tools.call('shelf', tool, args, { signal: never, timeoutMs });

describe.each(['inline', 'process'] as const)('driver %s', (isolation) => {
  const driver = () => (isolation === 'inline' ? createInlineDriver() : createProcessDriver(home));
  const spec = async () => (isolation === 'inline' ? SHELF : processShelf());

  test('lists, calls, keeps state apart from other sandboxes', async () => {
    const [a, b] = [await create(driver(), await spec()), await create(driver(), await spec())];
    expect((await a.tools.list(never)).find((tool) => tool.name === 'look')).toMatchObject({
      server: 'shelf',
    });
    await call(a, 'put', { id: 'x', count: 1 });
    expect(await call(a, 'look', { id: 'x' })).toEqual({ text: 'x has 1', isError: false });
    expect(await call(b, 'look', { id: 'x' })).toEqual({ text: 'no row x', isError: true });
  });

  test('a refusal by the server is a result', async () => {
    const sandbox = await create(driver(), await spec());
    expect(await call(sandbox, 'refuse')).toMatchObject({
      isError: true,
      text: expect.stringContaining('count is missing'),
    });
    expect(await call(sandbox, 'throw')).toMatchObject({
      isError: true,
      text: expect.stringContaining('broke down'),
    });
  });

  test('a deadline, a lost session, and calls after it are faults', async () => {
    const sandbox = await create(driver(), await spec());
    await expect(call(sandbox, 'hang', {}, 40)).rejects.toMatchObject({ kind: 'deadline' });
    await expect(call(sandbox, 'die')).rejects.toMatchObject({ kind: 'sandbox', code: 'session_lost' });
    await expect(call(sandbox, 'look')).rejects.toMatchObject({ kind: 'sandbox', code: 'session_lost' });
    await sandbox.release();
    await sandbox.release();
  });

  test("the caller's abort passes through", async () => {
    const sandbox = await create(driver(), await spec());
    const controller = new AbortController();
    const hanging = sandbox.tools.call('shelf', 'hang', {}, { signal: controller.signal, timeoutMs: 10_000 });
    controller.abort(new Error('stop'));
    await expect(hanging).rejects.toThrow('stop');
  });

  test('a form that the driver cannot start', async () => {
    const wrong: ServerSpec = { name: 'shelf', startTimeoutMs: 1_000 };
    await expect(create(driver(), wrong)).rejects.toMatchObject({ kind: 'sandbox', retry: false });
  });
});

describe('process', () => {
  test('a bare environment, a folder of its own, nothing left', async () => {
    process.env.SECRET_OF_OURS = 'x';
    const sandbox = await create(createProcessDriver(home), await processShelf({ GIVEN: '1' }));
    const env = JSON.parse((await call(sandbox, 'env')).text) as Record<string, string>;
    expect(env).toMatchObject({ GIVEN: '1', STEADFAST_SANDBOX: sandbox.name });
    expect(env).not.toHaveProperty('SECRET_OF_OURS');
    expect(env.cwd).toBe(join(home, 'sandboxes', sandbox.name, 'tmp'));
    await sandbox.release();
    expect(existsSync(join(home, 'sandboxes', sandbox.name))).toBe(false);
    expect(await markedProcesses(sandbox.name)).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')('limits, a session and a group of its own', async () => {
    const limits = { ...PROCESS_LIMITS, cpuSeconds: 77, openFiles: 555, processes: 4_444 };
    const sandbox = await create(createProcessDriver(home, limits), await processShelf());
    const [pid] = await markedProcesses(sandbox.name);
    const set = await readFile(`/proc/${pid}/limits`, 'utf8');
    for (const [name, value] of [
      ['cpu time', 77],
      ['file size', PROCESS_LIMITS.fileMebibytes * 2 ** 20],
      ['data size', PROCESS_LIMITS.dataMebibytes * 2 ** 20],
      ['core file size', 0],
      ['processes', 4_444],
      ['open files', 555],
    ]) {
      expect(set).toMatch(new RegExp(`^Max ${name} +${value} +${value} `, 'm'));
    }
    const [, , group, session] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ');
    expect([group, session]).toEqual([String(pid), String(pid)]);
  });

  test('a grandchild outside the process group ends too', async () => {
    const sandbox = await create(createProcessDriver(home), await processShelf({ SPAWN_CHILD: '1' }));
    expect((await markedProcesses(sandbox.name)).length).toBe(2);
    await sandbox.release();
    expect(await markedProcesses(sandbox.name)).toEqual([]);
  });

  test('another worker reaps by name what a killed one has left', async () => {
    const sandbox = await create(createProcessDriver(home), await processShelf({ SPAWN_CHILD: '1' }));
    const driver = createProcessDriver(home);
    expect(await driver.reap(sandbox.name)).toBe(true);
    expect(await markedProcesses(sandbox.name)).toEqual([]);
    expect(await driver.reap(sandbox.name)).toBe(false);
    expect(await readdir(join(home, 'sandboxes'))).not.toContain(sandbox.name);
  });

  test('a crash says what the program said last', async () => {
    const sandbox = await create(createProcessDriver(home), await processShelf());
    await expect(call(sandbox, 'die')).rejects.toThrow(/exit 3.*out of paper/);
  });

  test('a program that does not exist, and one that says nothing', async () => {
    const program = (file: string, args: string[]): ServerSpec => ({
      name: 'shelf',
      command: { file, args, env: {} },
      startTimeoutMs: 200,
    });
    await expect(create(createProcessDriver(home), program('/no/such', []))).rejects.toMatchObject({
      code: 'start_failed',
    });
    await expect(create(createProcessDriver(home), program('sleep', ['60']))).rejects.toMatchObject({
      code: 'start_timeout',
    });
    expect(await markedProcesses(`t-${process.pid}-${count}`)).toEqual([]);
  });

  test('a long answer passes, an endless one ends the session', async () => {
    const sandbox = await create(createProcessDriver(home), await processShelf());
    expect((await call(sandbox, 'flood', { count: 1_000_000 })).text).toHaveLength(1_000_000);
    await expect(call(sandbox, 'flood', { count: 17_000_000 })).rejects.toMatchObject({ kind: 'sandbox' });
  });
});

test('only suites of this repository run in the worker itself', () => {
  requireTrusted('deskbench', { isolation: 'inline' });
  requireTrusted('theirs', { isolation: 'process' });
  expect(() => requireTrusted('theirs', { isolation: 'inline' })).toThrow(
    /isolation of suite theirs: expected process or docker.*found inline/,
  );
});
