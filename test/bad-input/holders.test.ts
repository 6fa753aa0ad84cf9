/** Two at once: whoever leaves last stops the stack, and a holder that was killed is forgotten. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startedAt } from '../../infra/setup/process.mjs';
import { forgetUp, hold, leaveStack, otherHolders } from '../../infra/stack/holders.js';
import { readState } from '../../infra/stack/info.js';
import { discard, killHard, stateWhen, temporaryHome, tinySupervisor } from '../setup/harness.js';

let home = '';
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => discard(home));

/** Another demo: a real process whose file says that it needs the stack. */
function otherDemo() {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' });
  const id = { pid: child.pid as number, started: startedAt(child.pid as number) ?? '' };
  mkdirSync(join(home, 'holders'), { recursive: true });
  writeFileSync(join(home, 'holders', `demo-${id.pid}.json`), JSON.stringify(id));
  return id;
}

it('stays up for others, and is stopped by the last', async () => {
  tinySupervisor(home, { trainer: {} });
  await stateWhen(home, ({ state }) => state === 'ready');
  hold(home, 'demo');
  hold(home, 'up');
  const other = otherDemo();
  expect(await leaveStack(home)).toEqual([`another demo (process ${other.pid})`, '"steadfast up"']);
  await killHard(other);
  expect(otherHolders(home)).toEqual(['"steadfast up"']);
  expect(readState(home)?.state).toBe('ready');
  forgetUp(home);
  expect(await leaveStack(home)).toEqual([]);
  expect(readState(home)).toBeUndefined();
});

it('is nobody where nothing was ever started', async () => {
  expect(otherHolders(home)).toEqual([]);
  expect(await leaveStack(home)).toEqual([]);
});
