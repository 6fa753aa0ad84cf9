/**
 * The Verl bridge with Verl's own vLLM replicas, which share the machine with its ranks: two real ranks over Ray, two real
 * engines on the CPU, weights by Verl's own transfer. Skipped without Verl or without vLLM beside it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Bridge,
  hasVllm,
  notHeld,
  SAMPLING_CHECKS,
  startBridge,
  tinyModel,
  verlPython,
} from './bridge.js';
import { comesBack } from './killed.js';

const LIMIT_MS = 60 * 60_000;
const python = verlPython();

describe.skipIf(python === undefined || !hasVllm(python))("the Verl bridge with Verl's replicas", () => {
  let folder = '';
  let bridge: Bridge;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'verl-replicas-'));
    await tinyModel(python!, path.join(folder, 'model'), 2, 1);
    bridge = await startBridge(python!, folder, ['--ranks', 'ray', '--rollout', 'replicas']);
  }, LIMIT_MS);
  afterAll(async () => {
    await bridge?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    'what is sampled comes from the weights that it names',
    async () => {
      expect(bridge.replicas()).toHaveLength(2);
      expect(await notHeld(bridge.url, folder, SAMPLING_CHECKS)).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'a replica that is killed ends ranks and session, and the checkpoint brings both back',
    () => comesBack(bridge, folder, () => [...bridge.ranks(), ...bridge.replicas()]),
    LIMIT_MS,
  );
});
