/**
 * What a run is configured to do in each update, and the plan that follows from it for a given trainer. Pure.
 *
 * The bound on the sampler-trainer difference is a guard, not a part of the computation: a run that says nothing gets
 * today's default where its trainer can check it, and its identity does not hang on the default's numbers.
 */
import { UsageError } from './faults.js';
import type { ImportanceWeights, MismatchBound, UpdatePlan } from './trainer.js';

/** As configurations keep it. What is absent is the default; `none` is what somebody has decided. */
export interface UpdateSettings extends Omit<UpdatePlan, 'mismatch'> {
  readonly mismatch?: MismatchBound | 'none';
}

/** As people write it. */
export type WrittenSettings = {
  readonly [K in keyof Omit<UpdatePlan, 'importance' | 'mismatch'>]?: UpdatePlan[K] | undefined;
} & {
  readonly importance?:
    | { readonly kind: 'none' | 'truncated'; readonly cap?: number | undefined }
    | undefined;
  readonly mismatch?: { readonly [K in keyof MismatchBound]?: number | undefined } | 'none' | undefined;
};

/** The importance weights that are meant where only their kind is given: the cap of the published recipe. */
export const IMPORTANCE_CAP = 2;

/** `defaults` with what was written in place; no importance weights and no member are the same thing, written one way. */
export function updateSettings(
  defaults: UpdatePlan,
  bound: MismatchBound,
  { importance, mismatch, ...numbers }: WrittenSettings = {},
): UpdateSettings {
  const given = Object.entries(numbers).filter(([, value]) => value !== undefined);
  const weights: ImportanceWeights | undefined =
    importance?.kind === 'truncated'
      ? { kind: 'truncated', cap: importance.cap ?? IMPORTANCE_CAP }
      : undefined;
  return {
    ...defaults,
    ...Object.fromEntries(given),
    ...(weights ? { importance: weights } : {}),
    ...(mismatch === undefined
      ? {}
      : { mismatch: mismatch === 'none' ? mismatch : boundOf(bound, mismatch) }),
  };
}

function boundOf(
  { meanAbove, shareAbove }: MismatchBound,
  written: Exclude<WrittenSettings['mismatch'], 'none' | undefined>,
): MismatchBound {
  return { meanAbove: written.meanAbove ?? meanAbove, shareAbove: written.shareAbove ?? shareAbove };
}

/** What a trainer says of itself (`capabilities`), as far as plans are concerned. */
export interface PlanSupport {
  readonly importance: readonly string[];
  /** True when a plan's bound is checked before the optimizer step. */
  readonly mismatchBound: boolean;
  /** The bound that the trainer itself proposes: one that samples and trains with the same numbers has a tight one. */
  readonly proposedBound?: MismatchBound;
}

/** From `capabilities`; what is not there is not supported. */
export function planSupport(capabilities: Readonly<Record<string, unknown>>): PlanSupport {
  const { importance, mismatchBound } = capabilities;
  const kinds = Array.isArray(importance) ? importance.filter((kind) => typeof kind === 'string') : [];
  const proposed = isBound(mismatchBound) ? { proposedBound: mismatchBound } : {};
  return { importance: kinds, mismatchBound: mismatchBound === true || isBound(mismatchBound), ...proposed };
}

function isBound(value: unknown): value is MismatchBound {
  if (typeof value !== 'object' || value === null) return false;
  const { meanAbove, shareAbove } = value as Readonly<Record<string, unknown>>;
  return typeof meanAbove === 'number' && typeof shareAbove === 'number';
}

/** True when the settings ask for something that not every trainer can do. */
export function needsSupport({ importance, mismatch }: UpdateSettings): boolean {
  return importance !== undefined || (mismatch !== undefined && mismatch !== 'none');
}

/**
 * The plan for this trainer. Throws `UsageError` for settings that it cannot follow. `bound`: the default for trainers
 * that propose none.
 */
export function planFor(
  { mismatch, ...plan }: UpdateSettings,
  bound: MismatchBound,
  { importance, mismatchBound, proposedBound }: PlanSupport,
): UpdatePlan {
  if (plan.importance && !importance.includes(plan.importance.kind)) {
    throw new UsageError(
      'train.plan.importance',
      `a trainer whose capabilities name "${plan.importance.kind}"`,
      importance.length > 0 ? `one with ${importance.join(', ')}` : 'one without importance weights',
      'Leave it away (kind: none), or use another trainer.',
    );
  }
  if (mismatch === 'none' || (mismatch === undefined && !mismatchBound)) return plan;
  if (!mismatchBound) {
    throw new UsageError(
      'train.plan.mismatch',
      'a trainer that checks it before its optimizer step (capabilities.mismatchBound)',
      'one that does not',
      'Leave it away, or write "mismatch: none".',
    );
  }
  return { ...plan, mismatch: mismatch ?? proposedBound ?? bound };
}
