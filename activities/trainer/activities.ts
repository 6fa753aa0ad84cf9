/** What runs beside the weights: serve, bring to a state, update once, publish, check, save. */
import path from 'node:path';
import { log } from '@temporalio/activity';
import type { Digest } from '../../core/artifacts.js';
import { type BatchFormat, batchFormatFor } from '../../core/batch.js';
import { Fault } from '../../core/faults.js';
import { stepId } from '../../core/keys.js';
import type { UpdatePlan, UpdateReport } from '../../core/trainer.js';
import { Configurations } from '../campaign/deps.js';
import { sendOrAttach } from './attach.js';
import { sendBatch } from './batch-request.js';
import { sampledFolder, startFolder } from './checkpoint-paths.js';
import { asRaced, bringTo, digestAfter, type LineageDeps } from './lineage.js';
import { requireBatch } from './lost.js';
import { newestVerified, releaseServed } from './nightly.js';
import { refuseOtherBase } from './one-base.js';
import { noteOffPolicy, planOf, requirePlan } from './plan.js';
import { probeBound } from './probe-bound.js';
import { probeSequences } from './probe-sequences.js';
import { pruneOld } from './retention.js';
import { withTrainer } from './waiting.js';

export interface TrainerDeps extends Omit<LineageDeps, 'startOf'> {
  /** Checkpoints lie in one folder a run below it. */
  readonly checkpoints: string;
}

export type TrainerActivities = ReturnType<typeof createTrainerActivities>;

export function createTrainerActivities(deps: TrainerDeps) {
  const { ledger, artifacts, trainer } = deps;
  const configs = new Configurations(ledger);
  const lineage: LineageDeps = {
    ...deps,
    startOf: async (run) => startFolder(ledger, await configs.ofKind(run, 'train')),
  };

  async function publishChecked(run: string, step: number, signal: AbortSignal): Promise<Digest> {
    const { weightVersion } = await trainer.publish(run, signal);
    const wanted = await digestAfter(ledger, run, step);
    if (wanted === undefined || weightVersion === wanted) return weightVersion;
    throw new Fault('trainer', `${run}: published ${weightVersion}, expected ${wanted} of step ${step}`, {
      code: 'wrong_weights',
    });
  }

  /** A batch that was damaged since it was built is made again: its step could go neither on nor back without it. */
  async function wholeBatch(run: string, step: number, batchDigest: Digest): Promise<void> {
    const mended = await requireBatch({ ledger, artifacts }, { run, step, batchDigest });
    if (mended !== undefined) log.warn(mended);
  }

  return {
    /** Makes the weights that a probe or an evaluation samples from available; never touches a training session. */
    serveModel: (campaign: string) =>
      withTrainer(async (signal): Promise<{ weightVersion: Digest }> => {
        const { model } = await configs.ofKind(campaign, 'probe', 'eval');
        if (model.kind !== 'trainer') {
          throw new Fault('trainer', `${campaign}: its model is not served by the trainer`, { retry: false });
        }
        const { checkpoint } = model;
        const from = checkpoint === 'base' ? undefined : await sampledFolder(ledger, campaign, checkpoint);
        const { weightVersion } = await trainer.serve(from, signal);
        if (from === undefined) await refuseOtherBase(ledger, campaign, weightVersion);
        return { weightVersion };
      }),

    /** Gives back what `serveModel` took for a campaign, as often as its shards have taken it. */
    releaseModel: (campaign: string, leases: number) =>
      withTrainer((signal) => releaseServed({ ledger, trainer }, campaign, leases, signal)),

    /** The newest checkpoint of a run whose every byte is what its manifest says. */
    newestVerified: (run: string) => withTrainer(() => newestVerified(ledger, run)),

    /**
     * Makes the weights that `step` samples from current and samplable: those after the step before it. Says in which
     * format the trainer reads the step's batch; an older worker does not.
     */
    readyTrainer: (run: string, step: number) =>
      withTrainer(async (signal): Promise<{ weightVersion: Digest; batchFormat?: BatchFormat }> => {
        await requirePlan(trainer, (await configs.ofKind(run, 'train')).plan, signal);
        await bringTo(lineage, run, step - 1, signal);
        const batchFormat = batchFormatFor(await trainer.capabilities(signal));
        return { weightVersion: await publishChecked(run, step - 1, signal), batchFormat };
      }),

    /**
     * The step's one update. The operation is in the ledger before it is sent; the trainer compares and swaps, and
     * answers a known operation with its report, so running this again changes nothing.
     */
    applyUpdate: (run: string, step: number, batchDigest: Digest) =>
      withTrainer(async (signal): Promise<{ weightDigest: Digest; skipped: boolean }> => {
        const op = `${stepId(run, step)}/update`;
        const known = (await ledger.operations(run)).find((row) => row.op === op);
        if (known?.state === 'done' && known.report) return brief(known.report);
        const { plan: settings } = await configs.ofKind(run, 'train');
        // What was intended stays as it was: a newer default is no reason to call it another operation.
        const plan = known ? (known.plan as UpdatePlan) : await planOf(trainer, settings, signal);
        let state = await trainer.state(signal);
        const applied = state.run === run && state.appliedOps.includes(op);
        if (!applied) state = await bringTo(lineage, run, step - 1, signal);
        const baseDigest = known?.baseDigest ?? state.weightDigest;
        if (baseDigest === undefined) throw new Fault('trainer', `${run}: the trainer reports no weights`);
        if (!applied && baseDigest !== state.weightDigest) {
          throw new Fault(
            'trainer',
            `${op}: intended on weights ${baseDigest}, the run now starts from ${state.weightDigest}`,
            { code: 'stale_base', retry: false },
          );
        }
        await wholeBatch(run, step, batchDigest);
        await ledger.intendOperation({ op, run, step, baseDigest, batchDigest, plan });
        await ledger.operationSent(op);
        const operation = { run, op, baseDigest, batchDigest, plan };
        const report = await sendBatch(artifacts, operation, (request) =>
          sendOrAttach(trainer, request, signal).catch(async (error: unknown) => {
            await noteOffPolicy(ledger, { run, step }, error);
            const told = asRaced(error);
            if (told instanceof Fault && told.kind === 'trainer' && !told.retry)
              await ledger.operationFailed(op);
            throw told;
          }),
        );
        await ledger.operationDone(op, report);
        return brief(report);
      }),

    /** Makes the step's new weights samplable. */
    publish: (run: string, step: number) =>
      withTrainer(async (signal): Promise<{ weightVersion: Digest }> => {
        await bringTo(lineage, run, step, signal);
        return { weightVersion: await publishChecked(run, step, signal) };
      }),

    /** After a publish the sampler must agree with the trainer on fixed sequences: stale or garbage weights are found here. */
    checkSampler: (run: string, step: number) =>
      withTrainer(async (signal): Promise<{ maxDifference: number }> => {
        await bringTo(lineage, run, step, signal);
        const weightVersion = await publishChecked(run, step, signal);
        const row = (await ledger.steps(run)).find((candidate) => candidate.step === step);
        await wholeBatch(run, step, row!.batchDigest!);
        const sequences = await probeSequences(artifacts, row!.batchDigest!);
        const probed = await trainer.probe(weightVersion, sequences, signal);
        const maxDifference = largestDifference(probed.trainer, probed.sampler);
        const bound = await probeBound(trainer, signal);
        if (maxDifference <= bound) return { maxDifference };
        throw new Fault(
          'trainer',
          `${run}, step ${step}: the sampler differs from the trainer by ${maxDifference} nats, bound ${bound}`,
          { code: 'sampler_mismatch', retry: false },
        );
      }),

    saveCheckpoint: (run: string, step: number) =>
      withTrainer(async (signal): Promise<{ path: string }> => {
        await bringTo(lineage, run, step, signal);
        const saved = await trainer.checkpoint(
          run,
          path.join(deps.checkpoints, run.replace('/', '-')),
          signal,
        );
        await ledger.putCheckpoint({ run, step, path: saved.path, manifest: saved.manifest });
        await pruneOld({ ledger, folder: deps.checkpoints }, run, await configs.ofKind(run, 'train'));
        return { path: saved.path };
      }),
  };
}

function brief({ weightDigest, skipped }: UpdateReport) {
  return { weightDigest, skipped };
}

/** NaN counts as infinite: weights that give none are garbage. */
function largestDifference(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  let largest = 0;
  for (const [index, row] of a.entries()) {
    const other = b[index]!;
    if (row.length !== other.length) return Number.POSITIVE_INFINITY;
    for (const [position, value] of row.entries()) {
      const difference = Math.abs(value - other[position]!);
      if (!(difference <= largest))
        largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
    }
  }
  return largest;
}
