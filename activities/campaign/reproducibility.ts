/** Keeps a campaign's reproducibility record: an artifact that its row names, and a file beside its report. */
import { canonicalJson } from '../../core/fingerprint.js';
import { reproducibility } from '../../core/reproducibility.js';
import { replaceFile, reportPath } from '../report/metrics-jsonl.js';
import { type CampaignDeps, campaignRow } from './deps.js';

/** Written when the campaign begins and when it ends; the later one wins. Throws as ledger and artifacts do. */
export async function keepRecord(deps: CampaignDeps, id: string): Promise<void> {
  const { ledger, artifacts } = deps;
  const row = await campaignRow(ledger, id);
  const trains = row.kind === 'train';
  const record = reproducibility({
    row,
    program: (await deps.program?.()) ?? null,
    counts: await ledger.counts(id),
    steps: trains ? await ledger.steps(id) : [],
    checkpoints: trains ? await ledger.checkpoints(id) : [],
  });
  const digest = await artifacts.put(new TextEncoder().encode(canonicalJson(record)));
  await ledger.noteOnCampaign(id, { reproducibility: digest });
  await replaceFile(
    reportPath(deps.reports, id, 'reproducibility.json'),
    `${JSON.stringify(record, null, 2)}\n`,
  );
}
