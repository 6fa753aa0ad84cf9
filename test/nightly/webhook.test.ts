/** Posting a message: what is tried again, what is final, and that no error holds the address. */
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { post, regressionMessage } from '../../activities/nightly/webhook.js';
import { freePort } from '../../infra/stack/free-port.js';
import { month, SCHEDULE } from './fixture.js';
import { type Hook, startHook } from './hook.js';

let hook: Hook;
beforeAll(async () => {
  hook = await startHook();
});
afterAll(() => hook.close());

const fallen = month().nights.find(({ record }) => record.regression)!;
const message = regressionMessage(SCHEDULE, fallen);
const send = (address: string | undefined) => post(address, 'HOOK', message, AbortSignal.timeout(5_000));

async function failure(address: string | undefined): Promise<ApplicationFailure> {
  const error: unknown = await send(address).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApplicationFailure);
  return error as ApplicationFailure;
}

it.each([
  [500, false],
  [503, false],
  [408, false],
  [429, false],
  [302, true],
  [400, true],
  [410, true],
])('%i: final: %s', async (status, final) => {
  hook.answer(status);
  const { message: text, nonRetryable, cause } = await failure(hook.address);
  expect([text, nonRetryable]).toEqual([`the address of HOOK answered ${status}`, final]);
  expect(cause).toBeUndefined();
});

it('nobody there: tried again, and the error names no host and no path', async () => {
  const port = await freePort();
  const error = await failure(`http://127.0.0.1:${port}/${hook.secret}`);
  expect(error).toMatchObject({
    message: 'the address of HOOK cannot be reached (ECONNREFUSED)',
    nonRetryable: false,
  });
  expect(JSON.stringify([error, error.stack])).not.toContain(hook.secret);
});

it('no address, or something else in its place: final, and not shown', async () => {
  for (const address of [undefined, '', 'ftp://x/s3cret', 'https://', 'hooks s3cret']) {
    const { message: text, nonRetryable } = await failure(address);
    expect([text, nonRetryable]).toEqual([expect.stringMatching(/environment variable HOOK/), true]);
    expect(text).not.toContain('s3cret');
  }
});

it('the message says what fell, by how much, and against what', async () => {
  expect(await send(hook.address)).toBe(200);
  const { message: sent } = hook.received.at(-1)!;
  expect(sent).toEqual(JSON.parse(JSON.stringify(message)));
  expect(sent.regressions).toEqual([
    expect.objectContaining({ against: 'previous night', measure: 'pass@1', sameSuite: true }),
  ]);
  expect(sent.text).toMatch(
    /^nightly, night of 2026-11-24T01:00:00.000Z: pass@1 −\d+\.\d points against the previous night/,
  );
});
