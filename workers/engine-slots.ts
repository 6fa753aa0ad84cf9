/**
 * Slots of a worker whose tool servers are containers: so many, and none while the Docker engine does not answer. A
 * worker without its engine then takes no episodes that another worker could play, nor lets them wait where nobody
 * sees it; what it has taken waits for the engine itself (activities/sandbox/docker/driver.ts).
 */
import type { ActivitySlotInfo, CustomSlotSupplier, SlotPermit } from '@temporalio/worker';

/** Looked at before each episode is asked for, and so often while it does not answer. */
const AGAIN_MS = 1_000;

export interface EngineSlotsOptions {
  readonly slots: number;
  /** True when the engine answers. Never rejects. */
  readonly answers: () => Promise<boolean>;
  readonly say: (line: string) => void;
}

export function engineSlots({
  slots,
  answers,
  say,
}: EngineSlotsOptions): CustomSlotSupplier<ActivitySlotInfo> {
  let free = slots;
  const queue: (() => void)[] = [];
  /** One look at a time, whoever asks for a slot. */
  let looking: Promise<void> | undefined;
  let told = false;

  const untilAnswers = async (): Promise<void> => {
    while (!(await answers())) {
      if (!told) say('the Docker engine does not answer: no episodes are taken until it does');
      told = true;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
    }
    if (told) say('the Docker engine answers again');
    told = false;
  };
  const take = async (signal: AbortSignal): Promise<void> => {
    if (free > 0) free--;
    else await new Promise<void>((resolve, reject) => wait(resolve, reject, signal));
  };
  const wait = (resolve: () => void, reject: (reason: unknown) => void, signal: AbortSignal): void => {
    const go = () => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = () => {
      queue.splice(queue.indexOf(go), 1);
      reject(signal.reason);
    };
    queue.push(go);
    signal.addEventListener('abort', leave, { once: true });
  };
  const giveBack = (): void => {
    const next = queue.shift();
    if (next) next();
    else free++;
  };

  return {
    type: 'custom',
    async reserveSlot(_context, signal): Promise<SlotPermit> {
      await take(signal);
      looking ??= untilAnswers().finally(() => {
        looking = undefined;
      });
      await Promise.race([looking, aborted(signal)]);
      if (!signal.aborted) return {};
      giveBack();
      throw signal.reason;
    },
    // Episodes are never started eagerly: the workflows that ask for them are another worker's.
    tryReserveSlot: () => null,
    markSlotUsed: () => undefined,
    releaseSlot: giveBack,
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
