/** What the run will take, by what probes of its tasks took. Never a problem of its own. */
import { skipped, unless } from '../../../core/preflight.js';
import type { Check } from '../asked.js';
import { estimateOf, estimateText, newestProbes } from '../estimate.js';

export const estimate: Check = {
  name: 'tokens, cost and time',
  async run(asked) {
    if (!asked.stack) return skipped('the ledger cannot be asked for probes');
    const probes = await newestProbes(await asked.stack.ledger(), asked.config);
    const known = estimateOf(asked.config, probes, asked.file);
    return known
      ? unless([], estimateText(known))
      : skipped('no task of the pool has been probed: steadfast probe');
  },
};
