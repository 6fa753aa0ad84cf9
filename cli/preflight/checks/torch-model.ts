/** The model of a PyTorch trainer on this machine: a whole folder, with the control tokens of its format. */
import path from 'node:path';
import { HashCache } from '../../../activities/host/hash-cache.js';
import { modelFacts } from '../../../activities/host/model-folder.js';
import { skipped, unless } from '../../../core/preflight.js';
import { homeFolder } from '../../../infra/setup/root.mjs';
import type { Check } from '../asked.js';
import { modelTokens } from '../model-tokens.js';

export const torchModel: Check = {
  name: 'model of the PyTorch trainer',
  async run({ config: { trainer }, signal }) {
    if (trainer?.kind !== 'torch') return skipped('it is not PyTorch’s');
    if (trainer.host !== null) return skipped(`it lies on ${trainer.host}`);
    const cache = new HashCache(path.join(homeFolder(), 'model-hashes.json'));
    const facts = await modelFacts(trainer.model, modelTokens(trainer.format), cache, signal);
    const { type, parameters, digest } = facts;
    return unless(
      facts.problems,
      `${type ?? 'model'}, ${(parameters / 1e6).toFixed(1)} million parameters, ${digest}`,
    );
  },
};
