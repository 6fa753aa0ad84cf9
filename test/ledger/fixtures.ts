/** Rows as the pipeline writes them, with what a test does not care about filled in. */

import { fingerprint } from '../../core/fingerprint.js';
import { attemptKey, type CampaignKind } from '../../core/keys.js';
import type { BeginTry, CampaignRow, FinishTry, PlannedAttempt, StepRow } from '../../core/ledger.js';
import type { Usage } from '../../core/outcome.js';
import type { CheckpointManifest, UpdateReport } from '../../core/trainer.js';

export const digest = (letter: string): string => `sha256:${letter.repeat(64).slice(0, 64)}`;

export const USAGE: Usage = {
  policyPromptTokens: 200,
  policySampledTokens: 40,
  policyCalls: 5,
  otherPromptTokens: 30,
  otherSampledTokens: 6,
  otherCalls: 1,
};

export function claim(
  id: string,
  config: unknown = { tasks: ['a:1'], repeat: 1 },
  parent: string | null = null,
): Pick<CampaignRow, 'id' | 'kind' | 'config' | 'fingerprint' | 'suite' | 'suiteDigest' | 'parent'> {
  const kind = id.split('/')[0] as CampaignKind;
  return {
    id,
    kind,
    config,
    fingerprint: fingerprint(config),
    suite: 'deskbench',
    suiteDigest: digest('5'),
    parent,
  };
}

export function planned(campaign: string, taskId: string, slot: string): PlannedAttempt {
  return {
    key: attemptKey(campaign, taskId, slot),
    taskId,
    slot,
    domain: 'retail',
    template: 'refund',
    seed: '42',
  };
}

export function member(
  owner: string,
  step: number,
  [round, group, index]: readonly [number, number, number],
  taskId: string,
): PlannedAttempt {
  const slot = `${round}.${group}.${index}`;
  return { ...planned(owner, taskId, slot), step, round, group, member: index };
}

let sandboxes = 0;

export function begin(key: string, tryNumber = 1, activityAttempt = 1, worker = 'w1'): BeginTry {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const name = `sf-${process.pid}-${++sandboxes}`;
  return {
    key,
    tryNumber,
    activityAttempt,
    worker,
    sandbox: { name, isolation: 'inline', host: 'h1', expiresAt },
  };
}

export function clean(
  key: string,
  passed = true,
  tryNumber = 1,
  activityAttempt = 1,
): FinishTry & { clean: object } {
  return {
    key,
    tryNumber,
    activityAttempt,
    wallMs: 12.5,
    usage: USAGE,
    clean: {
      verdict: { passed, reward: passed ? 1 : 0, reasons: passed ? [] : ['a row is missing'], judged: [] },
      termination: 'done',
      trajectory: digest('7'),
      effectsDigest: digest('e'),
      weightVersion: digest('b'),
      turns: 5,
      toolCalls: 4,
      toolErrors: 0,
      truncatedTurns: 0,
    },
  };
}

export function faulted(
  key: string,
  tryNumber = 1,
  activityAttempt = 1,
  fault: Partial<NonNullable<FinishTry['fault']>> = {},
): FinishTry {
  return {
    key,
    tryNumber,
    activityAttempt,
    wallMs: 7,
    usage: USAGE,
    fault: {
      kind: 'sandbox',
      code: null,
      message: 'the session is gone',
      stack: null,
      duringToolCall: true,
      exhausted: false,
      trajectory: null,
      ...fault,
    },
  };
}

export function stepRow(run: string, step: number, change: Partial<StepRow> = {}): StepRow {
  return {
    ...{ run, step, state: 'sampling', cursor: 0, started: 0 },
    ...{ baseDigest: null, weightDigest: null, batchDigest: null, op: null, metrics: {}, cause: null },
    ...change,
  };
}

export function report(
  op: string,
  baseDigest: string,
  batchDigest: string,
  weightDigest: string,
): UpdateReport {
  return {
    ...{ op, baseDigest, batchDigest, weightDigest, optimizerDigest: digest('0'), skipped: false },
    ...{ loss: -0.25, gradNorm: 1e-6, clipFraction: 0, entropy: 0.5, klToBase: 0.001 },
    ...{ mismatchMean: 1e-7, mismatchMax: 1e-6, mismatchShare: 0, tokens: 1234, seconds: 1.5 },
  };
}

export function manifest(run: string, step: number, weightDigest: string): CheckpointManifest {
  return {
    ...{ format: 1, run, step, weightDigest, optimizerDigest: digest('0'), appliedOps: [] },
    files: [{ name: 'model.safetensors', bytes: 10, sha256: 'x' }],
    ...{ trainerBuild: 'test', numerics: { blas: 'openblas' }, createdAt: '2026-01-01T00:00:00.000Z' },
  };
}
