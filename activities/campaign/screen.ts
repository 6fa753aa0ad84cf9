/** The probe that follows a reference screen: a pure function of the screen's configuration and rows. */
import type { AttemptsConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { Ledger } from '../../core/ledger.js';
import { type Screened, screenTasks } from '../../core/selection/screen.js';
import { campaignRow } from './deps.js';

export interface ScreenedProbe {
  /** Of the probe. */
  readonly id: string;
  readonly screened: Screened;
  /** Null while tasks are undecided, or when none passed. */
  readonly config: AttemptsConfig | null;
}

/** Throws `Fault('ledger', code: 'wrong_kind')` for a campaign that is no screen. */
export async function screenedProbe(
  ledger: Pick<Ledger, 'campaign' | 'attempts'>,
  reference: string,
): Promise<ScreenedProbe> {
  const { screens, ...config } = (await campaignRow(ledger, reference)).config as AttemptsConfig;
  if (!screens) {
    const words = `${reference}: expected a reference screen, found a campaign that screens nothing`;
    throw new Fault('ledger', words, { code: 'wrong_kind', retry: false });
  }
  const { probe: id, model, repeat, ...rule } = screens;
  const screened = screenTasks(config.tasks, await ledger.attempts(reference), rule);
  const tasks = rule.all ? config.tasks : screened.passed;
  const ready = tasks.length > 0 && (rule.all || screened.undecided.length === 0);
  if (!ready) return { id, screened, config: null };
  return {
    id,
    screened,
    config: { ...config, model, repeat, tasks, screenedBy: { ...rule, campaign: reference } },
  };
}
