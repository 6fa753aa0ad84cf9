/**
 * A line of Verl's file logger, as our step metrics:
 *
 *   {"step": 3, "data": {"actor/pg_loss": 0.01, "critic/score/mean": 0.4, …}}
 *
 * Verl writes null for what is not finite. Pure.
 */
import { isObject } from '../message.js';
import type { StepMetric, StepMetrics } from '../step-metrics.js';

/** Only what means the same in both. Names of Verl 0.9.1. */
const NAMES: Readonly<Partial<Record<StepMetric, string>>> = {
  reward: 'critic/score/mean',
  entropy: 'actor/entropy',
  gradNorm: 'actor/grad_norm',
  clipFraction: 'actor/pg_clipfrac',
  loss: 'actor/pg_loss',
  responseTokens: 'response_length/mean',
  truncatedShare: 'response_length/clip_ratio',
  secondsSampling: 'timing_s/gen',
  secondsUpdate: 'timing_s/update_actor',
  secondsPublish: 'timing_s/update_weights',
  secondsCheckpoint: 'timing_s/save_checkpoint',
};
/** Weights that were updated with one of these not finite are not to be gone on from. */
const VITAL = ['actor/pg_loss', 'actor/grad_norm'];

export interface VerlStep {
  readonly step: number;
  readonly metrics: StepMetrics;
  /** Names of loss and gradient that are there and are no finite number. */
  readonly notFinite: readonly string[];
}

/** Undefined for what is no line of a training step: half a line, or an evaluation before the first step. */
export function verlStep(line: string): VerlStep | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value) || !isObject(value.data)) return undefined;
  const { step, data } = value;
  if (!Number.isSafeInteger(step) || Number(step) < 1) return undefined;
  const metrics: Partial<Record<StepMetric, number | null>> = {};
  for (const [ours, theirs] of Object.entries(NAMES)) {
    if (theirs in data) metrics[ours as StepMetric] = finite(data[theirs]);
  }
  const notFinite = VITAL.filter((name) => name in data && finite(data[name]) === null);
  return { step: Number(step), metrics, notFinite };
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
