/** `--set path=value`: what a fork may do otherwise than the run that it comes from. */
import { parse } from 'yaml';
import type { TrainConfig } from '../../core/campaign.js';
import { UsageError } from '../../core/faults.js';
import { nearestFew } from '../../core/nearest.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { updateSettings, type WrittenSettings } from '../../core/update-settings.js';
import { MISMATCH_BOUND } from '../../temporal.config.js';
import { requireEpisodeClock } from '../run/resolve.js';

/** Parts of the configuration whose members may be set one by one, and members of the configuration itself. */
const PARTS = ['plan', 'shape', 'limits', 'sampling'] as const;
const MEMBERS = ['steps', 'saveEvery', 'maxTries'] as const;
/** As in a run file: what is under `train` there. */
const UNDER_TRAIN: ReadonlySet<string> = new Set(['plan', 'shape', 'steps', 'saveEvery']);

/** Settings of the plan that most runs leave out, with their members. */
const OPTIONAL = { importance: ['kind', 'cap'], mismatch: ['meanAbove', 'shareAbove'] } as const;

/** Paths that `--set` knows for this run. */
function settablePaths(config: TrainConfig): readonly string[] {
  const inParts = PARTS.flatMap((part) => Object.keys(config[part]).map((name) => `${part}.${name}`));
  const optional = Object.entries(OPTIONAL).flatMap(([name, members]) => [
    `plan.${name}`,
    ...members.map((member) => `plan.${name}.${member}`),
  ]);
  return [...new Set([...inParts, ...optional]), ...MEMBERS];
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
  const merged = Object.entries(changed).reduce<Written>(withPath, { ...config });
  checkTypes(merged, Object.keys(changed));
  const { importance: _importance, mismatch: _mismatch, ...plan } = config.plan;
  const next = {
    ...merged,
    plan: updateSettings(plan, MISMATCH_BOUND, merged.plan as WrittenSettings),
  } as unknown as TrainConfig;
  checkShape(next, config);
  requireEpisodeClock('--set limits.episodeMs', next.limits.episodeMs);
  return next;
}

type Written = Readonly<Record<string, unknown>>;

/** The object with one value in place. A member of an optional setting is given on top of what is there. */
function withPath(object: Written, [path, value]: readonly [string, unknown]): Written {
  const [part = '', name, member] = path.split('.');
  if (name === undefined) return { ...object, [part]: value };
  const before = object[part] as Written;
  if (member === undefined) return { ...object, [part]: { ...before, [name]: value } };
  const known = before[name];
  const there = typeof known === 'object' && known !== null ? known : member === 'cap' ? TRUNCATED : {};
  // What is switched off keeps nothing.
  const members = value === 'none' ? { [member]: value } : { ...there, [member]: value };
  return { ...object, [part]: { ...before, [name]: members } };
}

const TRUNCATED = { kind: 'truncated' } as const;

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

/** What was set, by the schema of run files, so that there is one judge of values. */
function checkTypes(merged: Written, paths: readonly string[]): void {
  const file: Record<string, unknown> = {};
  const train: Record<string, unknown> = {};
  for (const path of paths) {
    const [part = '', name] = path.split('.');
    const place = UNDER_TRAIN.has(part) ? train : file;
    if (name === undefined) place[part] = merged[part];
    else {
      const value = (merged[part] as Written)[name];
      place[part] = { ...(place[part] as Written | undefined), [name]: value };
    }
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
