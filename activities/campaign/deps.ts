/** What the pipeline worker's activities are made from, and the frozen configurations that they read again and again. */
import type { ArtifactStore } from '../../core/artifacts.js';
import type { AttemptsConfig, CampaignConfig, PipelineConfig, TrainConfig } from '../../core/campaign.js';
import { Fault } from '../../core/faults.js';
import type { CampaignRow, Ledger } from '../../core/ledger.js';
import type { ProgramFacts } from '../../core/reproducibility.js';
import type { Suite, TaskRef } from '../../core/suite.js';

export interface CampaignDeps {
  readonly ledger: Ledger;
  readonly artifacts: ArtifactStore;
  /** Opens a suite by name; one object per process. */
  readonly suite: (name: string) => Promise<Suite>;
  /** Folder for reports and `metrics.jsonl`, one subfolder a campaign. */
  readonly reports: string;
  /** For reproducibility records; absent: they say nothing of the program. */
  readonly program?: () => Promise<ProgramFacts>;
}

/** A campaign's row. Throws `Fault('ledger', code: 'unknown_campaign')`, which no retry can help. */
export async function campaignRow(ledger: Pick<Ledger, 'campaign'>, id: string): Promise<CampaignRow> {
  const row = await ledger.campaign(id);
  if (row) return row;
  throw new Fault('ledger', `campaign ${id} is not in the ledger`, {
    code: 'unknown_campaign',
    retry: false,
  });
}

interface ConfigByKind {
  readonly probe: AttemptsConfig;
  readonly eval: AttemptsConfig;
  readonly train: TrainConfig;
  readonly pipeline: PipelineConfig;
}

/** Reads a campaign's configuration once per process: it is frozen when the campaign is claimed. */
export class Configurations {
  readonly #known = new Map<string, Promise<CampaignConfig>>();

  constructor(private readonly ledger: Ledger) {}

  of(id: string): Promise<CampaignConfig> {
    const known = this.#known.get(id);
    if (known) return known;
    const config = campaignRow(this.ledger, id).then((row) => row.config as CampaignConfig);
    this.#known.set(id, config);
    config.catch(() => this.#known.delete(id));
    return config;
  }

  /** The configuration, if it is of one of the kinds. Throws `Fault('ledger', code: 'wrong_kind')` if not. */
  async ofKind<K extends keyof ConfigByKind>(id: string, ...kinds: readonly K[]): Promise<ConfigByKind[K]> {
    const config = await this.of(id);
    if ((kinds as readonly string[]).includes(config.kind)) return config as ConfigByKind[K];
    throw new Fault('ledger', `${id}: expected a ${kinds.join(' or ')} campaign, found a ${config.kind}`, {
      code: 'wrong_kind',
      retry: false,
    });
  }
}

/** Task references by id. */
export async function taskRefs(suite: Suite): Promise<ReadonlyMap<string, TaskRef>> {
  return new Map((await suite.tasks()).map((ref) => [ref.id, ref]));
}

/** The reference of a planned task. Throws `Fault('suite')`, naming it. */
export function taskRef(refs: ReadonlyMap<string, TaskRef>, id: string): TaskRef {
  const ref = refs.get(id);
  if (ref) return ref;
  throw new Fault('suite', `task ${id} is planned but the suite does not have it`, { retry: false });
}
