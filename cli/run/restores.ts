/** Restores worth telling: those that passed over a checkpoint which should have been good. */
import type { Ledger, RestoreRow } from '../../core/ledger.js';

/** Of training runs among `ids`, oldest first; of those that passed over the same for the same reasons, the last. */
export async function troubledRestores(
  ledger: Ledger,
  ids: readonly string[],
): Promise<readonly RestoreRow[]> {
  const runs = ids.filter((id) => id.startsWith('train/'));
  const all = (await Promise.all(runs.map((run) => ledger.restores(run)))).flat();
  const troubled = all.filter(({ passedOver }) => passedOver.length > 0);
  const last = new Map(troubled.map((row) => [sameness(row), row]));
  return troubled.filter((row) => last.get(sameness(row)) === row);
}

const sameness = ({ run, opened, passedOver }: RestoreRow): string =>
  JSON.stringify([run, opened, passedOver]);

export function restoreText({ run, wanted, opened, passedOver, at }: RestoreRow): string {
  const from = opened === null ? 'the start of the run' : `the checkpoint of step ${opened}`;
  const reasons = passedOver
    .map(({ step, reason }) => `${step === 0 ? 'the start' : `step ${step}`} (${reason})`)
    .join('; ');
  return `${run}: restored to step ${wanted} from ${from} at ${at}; passed over: ${reasons}`;
}
