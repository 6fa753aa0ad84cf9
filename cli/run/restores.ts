/** Restores worth telling: those that passed over a checkpoint which should have been good. */
import type { Ledger, RestoreRow } from '../../core/ledger.js';

/** Of training runs among `ids`, oldest first. */
export async function troubledRestores(
  ledger: Ledger,
  ids: readonly string[],
): Promise<readonly RestoreRow[]> {
  const runs = ids.filter((id) => id.startsWith('train/'));
  const all = await Promise.all(runs.map((run) => ledger.restores(run)));
  return all.flat().filter(({ passedOver }) => passedOver.length > 0);
}

export function restoreText({ run, wanted, opened, passedOver, at }: RestoreRow): string {
  const from = opened === null ? 'the start of the run' : `the checkpoint of step ${opened}`;
  const reasons = passedOver.map(({ step, reason }) => `step ${step} (${reason})`).join('; ');
  return `${run}: restored to step ${wanted} from ${from} at ${at}; passed over: ${reasons}`;
}
