/**
 * Recorded histories: one JSON file a workflow, as Temporal's own tools write them, replayed by `replay.test.ts`.
 *
 *   STEADFAST_RECORD_HISTORIES=1 npx vitest run test/workflows/history.test.ts
 *
 * plays `scenario.ts` on a stack of its own (about a minute), checks the histories, and writes them here. When to do
 * so: docs/workflow-changes.md. `=nightly,shard` instead of 1 writes those alone. Those of GPU hosts are played by
 * `gpu-hosts.ts` and checked by `gpu-history.test.ts`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../import-graph.js';
import type { History } from './scenario.js';

const FOLDER = import.meta.dirname;

const ASKED = process.env.STEADFAST_RECORD_HISTORIES ?? '';

export const RECORDING = ASKED !== '';

/** All of them, or those that are named. */
export function isRecorded(name: string): boolean {
  return ASKED === '1' || ASKED.split(',').includes(name);
}

export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: History;
}

/** What stands for the checkout in stack traces: where it lay is nobody's business. */
const ANYWHERE = '/steadfast';

/** Replaces `<name>.json`. One event a line: a change shows as what it is. */
export function writeHistory(name: string, workflowId: string, history: History): void {
  const lines = history.events.map((event) => JSON.stringify(event)).join(',\n');
  const text = `{"workflowId":${JSON.stringify(workflowId)},"history":{"events":[\n${lines}\n]}}\n`;
  writeFileSync(join(FOLDER, `${name}.json`), text.replaceAll(ROOT, ANYWHERE));
}

export function readHistories(): ReadonlyMap<string, RecordedHistory> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
  return new Map(
    files.map((file) => [
      file.replace(/\.json$/, ''),
      JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as RecordedHistory,
    ]),
  );
}
