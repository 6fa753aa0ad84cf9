/** The whole benchmark, 507 × 20, through the stack with the scripted policy; its sandbox workers are killed twice. */
import { rmSync } from 'node:fs';
import { jsonOf } from './child.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { temporaryHome } from './stack.js';
import type { CampaignReport } from './thinkingbox-campaign.js';

const REPEAT = 20;
const MOST_EVENTS = 4_096;

async function run({ quick, say }: BenchOptions): Promise<readonly Figure[]> {
  if (!process.env.THINKINGBOX_DIR || !process.env.THINKINGBOX_DATA_DIR) {
    say('  skipped: THINKINGBOX_DIR and THINKINGBOX_DATA_DIR name no checkouts, see docs/thinkingbox.md');
    return [];
  }
  const home = temporaryHome();
  try {
    const args = [home, String(quick ? 1 : REPEAT)];
    const report = await jsonOf<CampaignReport>('test/bench/thinkingbox-campaign.js', args, { say });
    const { attempts, distinct, passed, mostEvents, killed, cpuSeconds } = report;
    const details = { ...report, cpuSecondsAnEpisode: rounded(cpuSeconds / attempts, 3) };
    return [
      {
        figure: `attempts without a clean key of their own after ${killed} kills`,
        bar: 'exactly 0, all passed',
        target: null,
        measured: attempts - distinct,
        unit: '',
        holds: distinct === attempts && passed === attempts,
        details,
      },
      {
        figure: 'events of the longest history',
        bar: `< ${MOST_EVENTS}`,
        target: null,
        measured: mostEvents,
        unit: '',
        holds: mostEvents < MOST_EVENTS,
        details: { attempts },
      },
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export const thinkingboxAllBench: Bench = {
  name: 'thinkingbox-all',
  about: '10,140 ThinkingBox attempts through the stack, two workers killed, about half an hour',
  run,
};
