/** The name: free, or of a run with this very configuration. Also the limits of providers, which all runs share. */
import { asBefore } from '../../../core/claim.js';
import { configDiff, describeChanges } from '../../../core/fingerprint.js';
import { asFinding, skipped, unless } from '../../../core/preflight.js';
import { checkProviders, requireUsed } from '../../run/providers.js';
import { requireTrainerSupport } from '../../run/trainer-support.js';
import type { Asked, Check } from '../asked.js';

export const known: Check = {
  name: 'name of the run',
  async run({ stack, id, config }) {
    if (!stack) return skipped('the ledger cannot be asked');
    const row = await (await stack.ledger()).campaign(id);
    if (!row) return unless([], `${id} is free`);
    const changes = configDiff(row.config, asBefore(config, row.config));
    if (changes.length === 0) return unless([], `${id} exists and is ${row.state}; it would go on`);
    const expected = 'the configuration that it was started with';
    const fix = 'Take another name for another configuration.';
    return unless([{ place: id, expected, found: describeChanges(changes), fix }], '');
  },
};

export const providers: Check = {
  name: 'limits of providers',
  async run({ stack, config, file }) {
    const table = file.providers ?? {};
    const problems = await refusals(async () =>
      stack ? checkProviders(await stack.rates(), config, table) : requireUsed(config, table),
    );
    return unless(problems, `${Object.keys(table).length} declared`);
  },
};

/** What a trainer that runs beside the stack says of the updates that it is asked for. */
export const support: Check = {
  name: 'trainer',
  async run({ stack, config }: Asked) {
    if (!stack) return skipped('it does not run');
    const problems = await refusals(() => requireTrainerSupport(config, stack.info.trainerUrl));
    return unless(problems, 'its updates are what the run asks for');
  },
};

async function refusals(check: () => Promise<void> | void) {
  try {
    await check();
    return [];
  } catch (error) {
    return [asFinding(error)];
  }
}
