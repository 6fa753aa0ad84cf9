/** `--set path=value`: what a fork may do otherwise than the run that it comes from. */
import { parse } from 'yaml';
import type { TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { nearestFew } from '../../core/nearest.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { requireEpisodeClock } from '../run/resolve.js';

/** Parts of the configuration whose members may be set one by one, and members of the configuration itself. */
const PARTS = ['plan', 'shape', 'limits', 'sampling'] as const;
const MEMBERS = ['steps', 'saveEvery', 'maxTries'] as const;
/** As in a run file: what is under `train` there. */
const UNDER_TRAIN: ReadonlySet<string> = new Set(['plan', 'shape', 'steps', 'saveEvery']);

/** Paths that `--set` knows for this run. */
function settablePaths(config: TrainConfig): readonly string[] {
  return [...PARTS.flatMap((part) => Object.keys(config[part]).map((name) => `${part}.${name}`)), ...MEMBERS];
}

/**
 * The configuration with the settings in place. A path may have `train.` in front, as in a run file, or be the last
 * word alone where that is unique. Throws `UsageError` for an unknown path (nearest ones named), a wrong value, or
 * numbers that do not go together.
 */
export function withSettings(config: TrainConfig, settings: readonly string[]): TrainConfig {
  const known = settablePaths(config);
  const changed: Record<string, unknown> = {};
  for (const setting of settings) {
    const at = setting.indexOf('=');
    if (at <= 0) throw new UsageError('--set', 'path=value, e.g. plan.learningRate=0.0003', `"${setting}"`);
    changed[knownPath(setting.slice(0, at).trim(), known)] = parse(setting.slice(at + 1));
  }
  checkTypes(changed);
  const next: Record<string, unknown> = { ...config };
  for (const [path, value] of Object.entries(changed)) {
    const [part = '', name] = path.split('.');
    next[part] = name === undefined ? value : { ...(next[part] as object), [name]: value };
  }
  checkShape(next as unknown as TrainConfig, config);
  requireEpisodeClock('--set limits.episodeMs', (next as unknown as TrainConfig).limits.episodeMs);
  return next as unknown as TrainConfig;
}

function knownPath(written: string, known: readonly string[]): string {
  const path = written.replace(/^train\./, '');
  if (known.includes(path)) return path;
  const named = known.filter((candidate) => candidate.slice(candidate.indexOf('.') + 1) === path);
  if (named.length === 1) return named[0]!;
  const near = nearestFew(path, known, 3);
  throw new UsageError(
    `--set ${written}`,
    'a setting that a fork can change',
    'an unknown path',
    near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Known: ${known.join(', ')}`,
  );
}

/** By the schema of run files, so that there is one judge of values. */
function checkTypes(changed: Readonly<Record<string, unknown>>): void {
  const file: Record<string, Record<string, unknown> | unknown> = {};
  const train: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(changed)) {
    const [part = '', name] = path.split('.');
    const place = UNDER_TRAIN.has(part) ? train : file;
    place[part] = name === undefined ? value : { ...(place[part] as object | undefined), [name]: value };
  }
  parseRunFile({ ...file, train }, '--set');
}

function checkShape({ shape, tasks }: TrainConfig, before: TrainConfig): void {
  const { minInformative, groups, maxGroups, groupSize } = shape;
  if (minInformative > groups || groups > maxGroups || groups > tasks.length) {
    throw new UsageError(
      '--set shape',
      `minInformative ≤ groups ≤ maxGroups, and groups at most the ${tasks.length} tasks of the pool`,
      `${minInformative}, ${groups}, ${maxGroups}`,
    );
  }
  if (groupSize < before.shape.groupSize) {
    throw new UsageError(
      '--set shape.groupSize',
      `at least ${before.shape.groupSize}, as many as the recorded groups have`,
      String(groupSize),
    );
  }
}
