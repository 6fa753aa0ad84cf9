/**
 * One configuration, one fingerprint: canonical JSON (keys sorted, no spaces), its SHA-256, and what differs between
 * two configurations. Not for workflows (node:crypto).
 */
import { createHash } from 'node:crypto';
import type { Digest } from './artifacts.js';
import { UsageError } from './faults.js';

/**
 * JSON with sorted keys, independent of insertion order; object members that are `undefined` are left out.
 * Throws `UsageError`, naming the path, for what JSON cannot say (NaN, functions, `undefined` in a list ...).
 */
export function canonicalJson(value: unknown): string {
  return write(value, '');
}

export function fingerprint(config: unknown): Digest {
  return `sha256:${createHash('sha256').update(canonicalJson(config)).digest('hex')}`;
}

export interface ConfigChange {
  /** `limits.episodeMs`, `tasks[3]`; empty for the whole value. */
  readonly path: string;
  /** Canonical JSON, or undefined where the path is absent. */
  readonly old: string | undefined;
  readonly new: string | undefined;
}

/** Every changed path, in the order of the sorted keys. Empty exactly when the fingerprints are equal. */
export function configDiff(before: unknown, after: unknown): readonly ConfigChange[] {
  const changes: ConfigChange[] = [];
  collect(before, after, '', changes);
  return changes;
}

const SHOWN = 120;

/** One line a change: `limits.episodeMs: 600000 → 900000`. Long values are cut, paths never. */
export function describeChanges(changes: readonly ConfigChange[]): string {
  return changes
    .map(
      (change) => `${change.path || '(everything)'}: ${shortValue(change.old)} → ${shortValue(change.new)}`,
    )
    .join('\n');
}

/** One side of a change, cut where it is long. */
export function shortValue(value: string | undefined): string {
  if (value === undefined) return 'absent';
  return value.length <= SHOWN ? value : `${value.slice(0, SHOWN)}… (${value.length} characters)`;
}

function write(value: unknown, path: string): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => write(item, `${path}[${index}]`)).join(',')}]`;
  }
  if (isPlain(value)) {
    const members = memberNames(value).map(
      (name) => `${JSON.stringify(name)}:${write(value[name], join(path, name))}`,
    );
    return `{${members.join(',')}}`;
  }
  throw new UsageError(path || 'configuration', 'a JSON value', describe(value));
}

function collect(before: unknown, after: unknown, path: string, changes: ConfigChange[]): void {
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index++) {
      collect(before[index], after[index], `${path}[${index}]`, changes);
    }
  } else if (isPlain(before) && isPlain(after)) {
    for (const name of [...new Set([...memberNames(before), ...memberNames(after)])].sort()) {
      collect(own(before, name), own(after, name), join(path, name), changes);
    }
  } else {
    const old = before === undefined ? undefined : write(before, path);
    const now = after === undefined ? undefined : write(after, path);
    if (old !== now) changes.push({ path, old, new: now });
  }
}

type Plain = Readonly<Record<string, unknown>>;

function isPlain(value: unknown): value is Plain {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** By code unit, so that every machine and locale sorts alike. */
function memberNames(value: Plain): string[] {
  return Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort();
}

/** Undefined for what is not there, also for names that every object inherits. */
function own(value: Plain, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function join(path: string, name: string): string {
  const step = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
  return path === '' ? step : `${path}.${step}`;
}

function describe(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'object' && value !== null) return value.constructor?.name ?? 'an object';
  return typeof value;
}
