/**
 * How many episodes a sandbox worker plays at a time: what its machine can carry, by what one episode of its isolation
 * takes at most (`EPISODE_NEEDS`). A fixed number, worked out once: docs/sandboxes.md says how it was compared with
 * Temporal's resource-based tuner, which `resources` asks for.
 */
import type { TunerHolder, WorkerOptions } from '@temporalio/worker';
import { UsageError } from '../core/faults.js';
import type { Isolation } from '../core/sandbox.js';
import { EPISODE_NEEDS, MEMORY_FOR_EPISODES, MOST_SANDBOX_SLOTS } from '../temporal.config.js';
import { type EngineSlotsOptions, engineSlots } from './engine-slots.js';

/** Where tool servers run: for `docker` the engine's machine, which need not be the worker's. */
export interface Machine {
  readonly memoryBytes: number;
  readonly cpus: number;
}

export interface Slots {
  readonly slots: number;
  /** For people: what the number follows from. */
  readonly why: string;
}

/** `STEADFAST_SLOTS`: a number, `resources`, or nothing: worked out. */
export type SlotsAsked = number | 'resources' | undefined;

/** Throws `UsageError`. */
export function slotsAsked(text: string | undefined): SlotsAsked {
  if (!text) return undefined;
  if (text === 'resources') return text;
  const slots = Number(text);
  if (Number.isSafeInteger(slots) && slots >= 1 && slots <= MOST_ASKED) return slots;
  throw new UsageError(
    'STEADFAST_SLOTS',
    `a whole number from 1 to ${MOST_ASKED}, or resources`,
    `"${text}"`,
  );
}

const MOST_ASKED = 1_000;

/** `workers`: sandbox workers that share the machine. */
export function slotsOf(isolation: Isolation, machine: Machine, workers = 1): Slots {
  const needs = EPISODE_NEEDS[isolation];
  const memory = (machine.memoryBytes * MEMORY_FOR_EPISODES) / workers;
  const byMemory = Math.floor(memory / (needs.mebibytes * 2 ** 20));
  const byCpu = Math.floor((machine.cpus * needs.perCpu) / workers);
  const slots = Math.max(1, Math.min(byMemory, byCpu, MOST_SANDBOX_SLOTS));
  const shared = workers === 1 ? '' : `, shared by ${workers} workers`;
  const why =
    `isolation ${isolation}: ${machine.cpus} CPUs × ${needs.perCpu}, and ${gibibytes(memory * workers)} GiB for ` +
    `${needs.mebibytes} MiB each${shared}; at most ${MOST_SANDBOX_SLOTS} a worker`;
  return { slots, why };
}

const gibibytes = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);

/** Aims of the tuner: room for what an episode takes after it was begun, which the tuner cannot know. */
const TARGETS = { targetMemoryUsage: MEMORY_FOR_EPISODES, targetCpuUsage: 0.9 } as const;

export interface SlotOptions {
  readonly options: Pick<WorkerOptions, 'maxConcurrentActivityTaskExecutions' | 'tuner'>;
  /** For people. */
  readonly said: string;
}

/** Options of the worker. `engine`: of the containers, where they are what its episodes need. */
export function slotOptions(
  asked: SlotsAsked,
  computed: Slots,
  engine?: Omit<EngineSlotsOptions, 'slots'>,
): SlotOptions {
  if (asked === 'resources') {
    const activities = {
      type: 'resource-based',
      tunerOptions: TARGETS,
      minimumSlots: 2,
      maximumSlots: MOST_SANDBOX_SLOTS,
    } as const;
    const { targetCpuUsage, targetMemoryUsage } = TARGETS;
    return {
      options: { tuner: tunerOf(activities) },
      said: `2 to ${MOST_SANDBOX_SLOTS} slots, while CPUs are under ${100 * targetCpuUsage} % and memory under ${100 * targetMemoryUsage} %`,
    };
  }
  const { slots, why } = asked === undefined ? computed : { slots: asked, why: 'STEADFAST_SLOTS' };
  const options = engine
    ? { tuner: tunerOf(engineSlots({ ...engine, slots })) }
    : { maxConcurrentActivityTaskExecutions: slots };
  return { options, said: `${slots} slots (${why})` };
}

/** A sandbox worker has activities alone; the others need some number. */
function tunerOf(activityTaskSlotSupplier: TunerHolder['activityTaskSlotSupplier']): TunerHolder {
  const fixed = { type: 'fixed-size', numSlots: 2 } as const;
  return {
    workflowTaskSlotSupplier: fixed,
    localActivityTaskSlotSupplier: fixed,
    nexusTaskSlotSupplier: fixed,
    activityTaskSlotSupplier,
  };
}
