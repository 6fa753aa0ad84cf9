/** Room for the checkpoints that stay, and for the one that is being written. */

import type { TrainConfig } from '../../../core/campaign.js';
import type { Finding } from '../../../core/cluster.js';
import { skipped, unless } from '../../../core/preflight.js';
import { TRAINING } from '../../../temporal.config.js';
import type { Check, ClusterAsked } from '../asked.js';

/** Float32 weights, and AdamW's two moments of each. */
const BYTES_PER_PARAMETER = 12;
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

export const disk: Check<ClusterAsked> = {
  name: 'room for checkpoints',
  run(asked) {
    const { trainer } = asked;
    const facts = [...(asked.cluster?.facts ?? [])];
    const parameters = Math.max(0, ...facts.map(([, { model }]) => model?.parameters ?? 0));
    if (parameters === 0) return skipped('no host has answered with the size of the model');
    const kept = retained(asked.config);
    const needed = (kept + 1) * parameters * BYTES_PER_PARAMETER;
    const what = `${kept} that stay and one being written, ${size(parameters * BYTES_PER_PARAMETER)} each`;
    const problems = facts.flatMap(([host, { folders }]): Finding[] => {
      const folder = folders[trainer.checkpoints];
      if (!folder || folder.problem !== null || folder.freeBytes >= needed) return [];
      return [
        {
          place: `${trainer.checkpoints} on ${host}`,
          expected: `${size(needed)} free for ${what}`,
          found: `${size(folder.freeBytes)} free`,
          fix: 'Make room, or keep fewer: train.keepLast, train.keepEvery.',
        },
      ];
    });
    return unless(problems, `${size(needed)}: ${what}`);
  },
};

function size(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 2 ** (10 * power);
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
}

/** Most checkpoints that retention ever leaves. */
export function retained({
  keep,
  steps,
  saveEvery,
}: Pick<TrainConfig, 'keep' | 'steps' | 'saveEvery'>): number {
  const last = keep?.last ?? TRAINING.keepLast;
  const every = keep?.every ?? TRAINING.keepEvery;
  const saved = Array.from({ length: Math.floor(steps / saveEvery) }, (_, index) => (index + 1) * saveEvery);
  if (steps % saveEvery !== 0) saved.push(steps);
  if (last === 0) return saved.length;
  const older = saved.slice(0, Math.max(0, saved.length - last));
  const milestones = every > 0 ? older.filter((step) => step % every === 0) : [];
  return milestones.length + Math.min(last, saved.length);
}
