/** Two ranks of Verl over Ray on the CPU: one of them is killed, and the run's checkpoint brings the session back. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bridge, notHeld, startBridge, tinyModel, verlPython } from './bridge.js';
import { comesBack } from './killed.js';

const LIMIT_MS = 60 * 60_000;
/** What more than one rank could break. */
const CHECKS = [
  ...['update-once', 're-apply', 'optimizer-restored', 'manifest', 'damaged-checkpoints'],
  ...['token-mean', 'denominator', 'kl-to-base', 'importance-weights', 'samples-are-of-their-weights'],
];

const python = verlPython();

describe.skipIf(python === undefined)('two ranks of Verl over Ray', () => {
  let folder = '';
  let bridge: Bridge;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verl-ranks-'));
    await tinyModel(python!, path.join(folder, 'model'), 2);
    bridge = await startBridge(python!, folder, ['--ranks', 'ray']);
  }, LIMIT_MS);
  afterAll(async () => {
    await bridge?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    'a rank that is killed ends the session, and the checkpoint brings it back',
    async () => {
      expect(bridge.ranks()).toHaveLength(2);
      await comesBack(bridge, folder, () => bridge.ranks());
    },
    LIMIT_MS,
  );

  test(
    'keep the promises that more than one rank could break',
    async () => {
      expect(await notHeld(bridge.url, folder, CHECKS, true)).toEqual([]);
    },
    LIMIT_MS,
  );
});
