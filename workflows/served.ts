/** A campaign whose weights a server of ours serves: it needs them from here on, and waits until they are samplable. */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { sleep, startChild } from '@temporalio/workflow';
import { servingId } from '../core/keys.js';
import { servings } from './proxies.js';
import { serving } from './serving.js';

/** Its workflow may be at its very end: it is to be gone before another one starts. */
const AGAIN_MS = 2_000;

/** Returns the name that episodes ask for. Throws when no host can serve them. */
export async function servedWeights(campaign: string): Promise<string> {
  for (;;) {
    const { serving: name } = await servings.needServing(campaign);
    await started(name);
    const answer = await servings.awaitServing(campaign);
    if ('weightVersion' in answer) return answer.weightVersion;
    await sleep(AGAIN_MS);
  }
}

/** It outlives the campaign: others may need the same weights. */
async function started(name: string): Promise<void> {
  try {
    await startChild(serving, {
      workflowId: servingId(name),
      args: [{ serving: name }],
      parentClosePolicy: 'ABANDON',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
