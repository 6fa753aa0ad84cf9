/** A suite that is not the one a campaign was started with: refused at the start, at the opening, and by every player. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { suiteGuard } from '../../activities/campaign/suite-guard.js';
import type { Suite } from '../../core/suite.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { claim, digest } from '../ledger/fixtures.js';
import { startTestDatabase, type TestDatabase } from '../postgres.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
  await database.ledger.claimCampaign(claim('eval/mine'));
});
afterAll(() => database.stop());

const suiteOf = (found: string): Suite => ({ ...createDeskbench(), digest: found });
const guard = (found: string) => suiteGuard({ ledger: database.ledger, suite: async () => suiteOf(found) });

it('a name is refused with another suite, once and with both digests', async () => {
  const other = { ...claim('eval/mine'), suiteDigest: digest('6') };
  const claimed = database.ledger.claimCampaign(other);
  await expect(claimed).rejects.toThrow(/found 1 changed:\n\(suite digest\): sha256:5{64} → sha256:6{64}/);
});

it('plays with the same suite, and with another one not', async () => {
  await expect(guard(digest('5'))('eval/mine')).resolves.toBeUndefined();
  const refused = guard(digest('6'));
  await expect(refused('eval/mine')).rejects.toThrow(
    /suite deskbench of eval\/mine: expected digest sha256:5/,
  );
  await expect(refused('eval/mine')).rejects.toThrow(/Go back to that version/);
});

it('goes on once a person has accepted the change', async () => {
  const refused = guard(digest('7'));
  await expect(refused('eval/mine')).rejects.toThrow();
  const drift = { what: 'suite deskbench', recorded: digest('5'), found: digest('7'), acceptedAt: 'now' };
  await database.ledger.noteOnCampaign('eval/mine', { acceptedDrift: [drift] });
  await expect(refused('eval/mine')).resolves.toBeUndefined();
});
