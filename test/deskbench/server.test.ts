import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { createProcessDriver } from '../../activities/sandbox/process.js';
import type { Message } from '../../core/message.js';
import { userPrompt } from '../../core/prompts.js';
import type { SandboxDriver } from '../../core/sandbox.js';
import { createDeskOracle, ruleUser } from '../../suites/deskbench/check.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

const home = mkdtempSync(join(tmpdir(), 'deskbench-'));
afterAll(() => rmSync(home, { recursive: true }));
const { signal } = new AbortController();

/** Every observation of the oracle's episode and the effects at its end. */
async function observe(driver: SandboxDriver, taskId: string) {
  const task = await createDeskbench().load(taskId);
  const sandbox = await driver.create({ name: `desk-${process.pid}`, servers: task.servers, signal });
  try {
    await task.init(sandbox.tools, signal);
    const agent = createDeskOracle().agent(taskId);
    const messages: Message[] = [{ role: 'user', content: task.user.opening }];
    const texts: string[] = [];
    for (;;) {
      const turn = agent.next(messages);
      messages.push(turn);
      if (turn.content.includes(task.doneMarker)) break;
      const [call] = turn.toolCalls;
      if (!call) {
        messages.push({
          role: 'user',
          content: await ruleUser(userPrompt({ ...task.user, doneMarker: task.doneMarker }, messages)),
        });
        continue;
      }
      const result = await sandbox.tools.call(task.ref.domain, call.name, call.arguments, {
        signal,
        timeoutMs: 10_000,
      });
      texts.push(result.text);
      messages.push({ role: 'tool', callId: call.id, name: call.name, content: result.text, isError: false });
    }
    const tools = await task.visibleTools(sandbox.tools, signal);
    return { texts, tools, effects: await task.effects(sandbox.tools, signal) };
  } finally {
    await sandbox.release();
  }
}

it('gives the same tools, observations and effects inline and as a process', async () => {
  execFileSync(process.execPath, ['infra/setup/build.mjs'], { stdio: 'ignore' });
  const tasks = ['retail:address-01', 'travel_benchmark:move-01', 'bank:transfer-01'];
  for (const id of tasks) {
    const inline = await observe(createInlineDriver(), id);
    const outside = await observe(createProcessDriver(home), id);
    expect(outside).toEqual(inline);
    expect(inline.texts.length).toBeGreaterThanOrEqual(2);
  }
});

it('hides reserved tools and shows a schema for every argument', async () => {
  const { tools } = await observe(createInlineDriver(), 'bank:transfer-01');
  expect(tools.map(({ name }) => name)).toEqual([
    'find_card',
    'get_payment',
    'get_account',
    'block_card',
    'order_card',
    'open_dispute',
    'transfer_money',
    'request_approval',
    'deny_request',
  ]);
  expect(tools.find(({ name }) => name === 'transfer_money')?.inputSchema).toMatchObject({
    type: 'object',
    required: ['account', 'target', 'amount'],
    additionalProperties: false,
    properties: { amount: { type: 'string' } },
  });
});

it('refuses a start state that is not tables', async () => {
  const task = await createDeskbench().load('retail:refund-01');
  const sandbox = await createInlineDriver().create({ name: 'desk-bad', servers: task.servers, signal });
  const args = { state: { orders: { r41: { items: ['lamp'] } } } };
  const result = await sandbox.tools.call('retail', '__reserved__init', args, { signal, timeoutMs: 5_000 });
  await sandbox.release();
  expect(result.isError).toBe(true);
  expect(result.text).toMatch(/__reserved__init: state:[\s\S]*orders\.r41\.items/);
});
