/** The checkpoints of a run as they appear, and the one that a start goes on from. */
import { rm } from 'node:fs/promises';
import type { Digest } from '../../core/artifacts.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { VerlConfig } from '../../core/trainers/config.js';
import { TRAINING } from '../../temporal.config.js';
import { superfluous } from '../trainer/retention.js';
import { changedProblems, manifestOf, wholeProblems } from './checkpoint.js';
import type { JobDeps } from './deps.js';
import { putAside, savedSteps, setTracked, stepFolder, trackedStep } from './folder.js';

export interface VerlRunRow {
  readonly id: string;
  readonly fingerprint: Digest;
  readonly config: TrainConfig & { readonly trainer: VerlConfig };
}

export class RunCheckpoints {
  /** Whole ones that this start has written, or was found with. */
  readonly #recorded = new Set<number>();
  /** Those that are not, and when they are looked at again: a shared file system may show the last file late. */
  readonly #lookAgain = new Map<number, number>();
  readonly #folder: string;
  readonly #world: number;

  constructor(
    private readonly deps: JobDeps,
    private readonly run: VerlRunRow,
  ) {
    const { trainer } = run.config;
    this.#folder = trainer.checkpoints;
    this.#world = trainer.hosts.reduce((sum, { gpus }) => sum + gpus.length, 0);
  }

  /** Newest that verified; null: none yet. */
  get newest(): number | null {
    return this.#recorded.size === 0 ? null : Math.max(...this.#recorded);
  }

  /**
   * Takes those as saved that the ledger has, up to a step. What lies there may have changed since: it is compared when
   * somebody wants to go on from it, and never recorded anew.
   */
  async knownUpTo(step: number): Promise<void> {
    for (const row of await this.deps.ledger.checkpoints(this.run.id))
      if (!row.pruned && row.step <= step) this.#recorded.add(row.step);
  }

  /**
   * Verifies and records what Verl says that it has saved, up to a step: it saves before it tells the step's metrics,
   * which say whether the weights are any good. Returns what is wrong with those that are not whole, though Verl says so.
   */
  async discover(upTo: number, signal: AbortSignal): Promise<readonly string[]> {
    const tracked = await trackedStep(this.#folder);
    if (tracked === undefined) return [];
    const problems: string[] = [];
    let added = false;
    for (const step of await savedSteps(this.#folder)) {
      if (step > Math.min(tracked, upTo) || this.#recorded.has(step)) continue;
      if (Date.now() < (this.#lookAgain.get(step) ?? 0)) continue;
      const wrong = await this.#problems(step, undefined, signal);
      if (wrong.length > 0) {
        problems.push(...wrong);
        this.#lookAgain.set(step, Date.now() + this.deps.times.tidyMs);
        continue;
      }
      await this.#record(step, signal);
      added = true;
    }
    if (added) await this.#prune();
    return problems;
  }

  /**
   * Chooses the newest that verifies, puts newer ones aside and moves the tracker file to it. Returns its step; null:
   * the run starts from its model. Nothing may be writing there.
   */
  async choose(
    { keepUnusable }: { readonly keepUnusable: boolean },
    signal: AbortSignal,
  ): Promise<number | null> {
    const { ledger } = this.deps;
    const steps = (await savedSteps(this.#folder)).toReversed();
    const rows = await ledger.checkpoints(this.run.id);
    const passedOver: { step: number; reason: string }[] = [];
    let chosen: number | null = null;
    for (const step of steps) {
      const row = rows.find((each) => each.step === step && !each.pruned);
      const [reason] = await this.#problems(step, row?.manifest.files, signal);
      if (reason === undefined) {
        chosen = step;
        break;
      }
      passedOver.push({ step, reason });
    }
    const tracked = await trackedStep(this.#folder);
    const wanted = Math.max(tracked ?? 0, steps[0] ?? 0);
    if (wanted > 0) await ledger.noteRestore({ run: this.run.id, wanted, opened: chosen, passedOver });
    const aside = passedOver.map(({ step }) => step);
    await ledger.pruneCheckpoints(this.run.id, aside, 'it did not verify when the job was started again');
    await putAside(this.#folder, aside, keepUnusable);
    await this.#forgetCauses(chosen ?? 0);
    if (tracked !== undefined && tracked !== chosen) await setTracked(this.#folder, chosen);
    await this.knownUpTo(chosen ?? 0);
    if (chosen !== null && !this.#recorded.has(chosen)) await this.#record(chosen, signal);
    return chosen;
  }

  /** Steps after this one are trained again: what was wrong with them is over. */
  async #forgetCauses(step: number): Promise<void> {
    const { ledger } = this.deps;
    for (const row of await ledger.steps(this.run.id)) {
      if (row.step > step && row.cause !== null) await ledger.putStep({ ...row, cause: null });
    }
  }

  async #problems(
    step: number,
    files: Parameters<typeof changedProblems>[1]['files'] | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const folder = stepFolder(this.#folder, step);
    const problems = await wholeProblems(folder, this.#world);
    if (problems.length > 0) return problems;
    const row = (await this.deps.ledger.steps(this.run.id)).find((each) => each.step === step);
    if (row?.cause)
      return [`${folder}: expected weights of finite steps, found that step ${step}: ${row.cause}`];
    return files === undefined ? [] : changedProblems(folder, { files }, this.deps.hashes, signal);
  }

  async #record(step: number, signal: AbortSignal): Promise<void> {
    const { ledger, hashes } = this.deps;
    const { id, config } = this.run;
    const folder = stepFolder(this.#folder, step);
    const build = `verl ${config.trainer.pins.packages.verl ?? ''}`.trim();
    const manifest = await manifestOf(folder, { run: id, step, build }, hashes, signal);
    await ledger.putCheckpoint({ run: id, step, path: folder, manifest });
    this.#recorded.add(step);
  }

  /** By the run's own rule, as soon as a newer one has verified: the ledger first, then the files. */
  async #prune(): Promise<void> {
    const { ledger } = this.deps;
    const { id, config } = this.run;
    const keep = config.keep ?? { last: TRAINING.keepLast, every: TRAINING.keepEvery };
    const steps = (await ledger.checkpoints(id)).filter(({ pruned }) => !pruned).map(({ step }) => step);
    const rule = `keeps the last ${keep.last} and steps divisible by ${keep.every}`;
    const marked = await ledger.pruneCheckpoints(id, superfluous(steps, keep, config.steps), rule);
    for (const { step } of marked) {
      this.#recorded.delete(step);
      if (!this.#isNewest(step)) await rm(stepFolder(this.#folder, step), { recursive: true, force: true });
    }
  }

  /** One that was pruned before and lies there again is about to be recorded. */
  #isNewest(step: number): boolean {
    return this.newest === null || step > this.newest;
  }
}
