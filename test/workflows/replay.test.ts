/**
 * Recorded histories against today's workflow code: a workflow that was started before a change must be able to go
 * on after it. Fails with Temporal's own words when the code takes another way than the history (docs/workflow-changes.md).
 */
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { GPU_WORKFLOWS } from '../histories/gpu-hosts.js';
import { type RecordedHistory, readHistories } from '../histories/record.js';
import { type HistoryEvent, WORKFLOWS } from '../histories/scenario.js';
import { ROOT } from '../import-graph.js';

const BUNDLE = { workflowBundle: { codePath: join(ROOT, 'dist', 'workflow-bundle.js') } };
const recorded = readHistories();

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
});

it('there is a history of everything that the scenarios play', () => {
  expect([...recorded.keys()].sort()).toEqual(
    [...Object.keys(WORKFLOWS), ...Object.keys(GPU_WORKFLOWS)].sort(),
  );
});

it.each([...recorded])('%s', async (_name, { workflowId, history }) => {
  await Worker.runReplayHistory(BUNDLE, history, workflowId);
});

it('a history that the code would not have written is refused', async () => {
  const { workflowId, history } = recorded.get('step') as RecordedHistory;
  const text = JSON.stringify(history.events).replaceAll('"buildBatch"', '"somethingElse"');
  const changed = { events: JSON.parse(text) as readonly HistoryEvent[] };
  await expect(Worker.runReplayHistory(BUNDLE, changed, workflowId)).rejects.toThrow(/somethingElse/);
});
