/** A pipeline in miniature on a real stack of its own: every stage, every process, about a minute. */

import { openStack, type StackContext } from '../../cli/context.js';
import { launch } from '../../cli/run/launch.js';
import { pipelineConfig } from '../../cli/run/resolve.js';
import type { RunFile } from '../../core/schemas/run-file.js';
import type { StackInfo } from '../../infra/stack/info.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

export const SMALL: RunFile = {
  seed: 5,
  probe: { repeat: 3, limit: 30 },
  selection: { minCleanRuns: 3, retainBands: ['too_hard', 'hard', 'medium', 'easy', 'too_easy'] },
  benchmark: { repeat: 3, limit: 8 },
  train: {
    steps: 3,
    saveEvery: 2,
    plan: { learningRate: 7e-4 },
    shape: { groups: 4, groupSize: 4, maxGroups: 16, minInformative: 1 },
  },
};

export async function launchSmall(context: StackContext, name: string): Promise<string> {
  const config = await pipelineConfig(SMALL, createDeskbench());
  return (await launch(context, name, config, 16)).id;
}

/** Polls until the campaign is no longer running; throws when it takes longer than `limitMs`. */
export async function untilEnded(info: () => StackInfo, id: string, limitMs: number): Promise<string> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const context = openStack(info());
    try {
      const state = (await (await context.ledger()).campaign(id))?.state;
      if (state !== undefined && state !== 'running') return state;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    } finally {
      await context.close();
    }
    if (Date.now() > deadline) throw new Error(`${id} is still running after ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
