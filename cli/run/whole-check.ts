/** The files of a recorded checkpoint before anything is started: there, and as long as they were when it was saved. */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '../../core/faults.js';
import type { CheckpointRow, Ledger } from '../../core/ledger.js';
import { nameOf } from '../../core/stage-configs.js';
import { homeFolder } from '../../infra/setup/root.mjs';

export interface Found {
  readonly problems: readonly UsageError[];
  /** What was looked at, and what could not be, for people. */
  readonly lines: readonly string[];
}

/** Names and lengths; every digest is computed by the host, before it serves. */
export async function wholeCheck(ledger: Pick<Ledger, 'campaign'>, row: CheckpointRow): Promise<Found> {
  const { run, step, path: folder, manifest } = row;
  const place = `checkpoint ${nameOf(run)}@${step}`;
  const fix = `Read it whole: steadfast verify checkpoint ${nameOf(run)}@${step}`;
  if (!existsSync(folder)) {
    // Below our own home nobody else has it either.
    if (folder.startsWith(`${homeFolder()}${path.sep}`))
      return { problems: [new UsageError(place, folder, 'no such folder', fix)], lines: [] };
    return { problems: [], lines: [`${place}: ${folder} is not seen from here; who loads it looks at it`] };
  }
  const { wholeProblems, savedWorld } = await import('../../activities/verl/checkpoint.js');
  const config = (await ledger.campaign(run))?.config as { trainer?: { kind?: string } } | undefined;
  const world = config?.trainer?.kind === 'verl' ? ((await savedWorld(folder)) ?? 1) : undefined;
  const wrong = world === undefined ? [] : [...(await wholeProblems(folder, world))];
  for (const { name, bytes } of manifest.files) {
    const file = path.join(folder, name);
    if (wrong.some((problem) => problem.startsWith(`${file}: `))) continue;
    const size = await stat(file).then(
      (found) => found.size,
      () => undefined,
    );
    if (size !== bytes) wrong.push(`${file}: expected ${bytes} bytes, found ${size ?? 'no such file'}`);
  }
  return {
    problems: wrong.slice(0, 1).map((first) => {
      const more = wrong.length > 1 ? ` (and ${wrong.length - 1} more)` : '';
      return new UsageError(place, 'every file as it was saved', first + more, fix);
    }),
    lines:
      wrong.length > 0 ? [] : [`${place}: ${manifest.files.length} files, all there and as long as recorded`],
  };
}
