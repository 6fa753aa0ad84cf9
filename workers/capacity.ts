/** What a sandbox worker can carry here: its machine's, or its Docker engine's, looked at once when it starts. */
import {
  checkEngine,
  engineMachine,
  engineSettings,
  openEngine,
} from '../activities/sandbox/docker/engine.js';
import { answers } from '../activities/sandbox/docker/outage.js';
import type { WorkerEnvironment } from './environment.js';
import { thisMachine } from './machine.js';
import { type Machine, type SlotOptions, slotOptions, slotsOf } from './slots.js';

export interface Capacity extends SlotOptions {
  readonly machine: Machine;
  /** Episodes at a time; where that follows the load, what it would be without. */
  readonly slots: number;
}

/** Throws `UsageError` for an engine that is not there: that is said at once, not by every episode. */
export async function capacity(
  { isolation, slots, workersHere }: Pick<WorkerEnvironment, 'isolation' | 'slots' | 'workersHere'>,
  say: (line: string) => void,
): Promise<Capacity> {
  const on = (machine: Machine, engine?: Parameters<typeof slotOptions>[2]): Capacity => {
    const computed = slotsOf(isolation, machine, workersHere);
    const most = typeof slots === 'number' ? slots : computed.slots;
    return { ...slotOptions(slots, computed, engine), machine, slots: most };
  };
  if (isolation !== 'docker') return on(thisMachine());
  const settings = engineSettings(process.env);
  const engine = await openEngine(settings);
  await checkEngine(engine, settings);
  return on(await engineMachine(engine), { answers: () => answers(engine), say });
}
