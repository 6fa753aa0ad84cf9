/**
 * What goes wrong when: a list of faults drawn from a seed, before anything is started. The same seed gives the same
 * faults at the same offsets; what each one meets depends on the machine.
 */
import { type RandomStream, randomStream } from '../../core/random.js';
import type { FaultName } from '../faults/plan.js';

/** Processes by the start of their name in `stack.json`; `everything` is all of them and the supervisor, at once. */
export const VICTIMS = [
  'worker-pipeline',
  'worker-sandbox',
  'worker-gpu',
  'trainer',
  'temporal',
  'postgres',
  'endpoints',
  'supervisor',
  'everything',
] as const;
/** `tool-server`: one program of a sandbox, where sandboxes are programs. */
export type Victim = (typeof VICTIMS)[number] | 'tool-server';

/** Ways from the workers to what they use. */
export const LINKS = ['temporal', 'postgres', 'trainer', 'endpoints'] as const;
export type Link = (typeof LINKS)[number];
/** Links that carry HTTP/1: there single requests and replies can be lost, doubled and cut. */
export type HttpLink = 'trainer' | 'endpoints';

export type Network = 'latency' | 'cuts' | 'resets' | 'stall' | 'refusals';

export type Fault =
  | { readonly kind: 'kill'; readonly victim: Victim }
  | { readonly kind: 'pause'; readonly victim: Exclude<Victim, 'everything'>; readonly ms: number }
  | { readonly kind: 'network'; readonly link: Link; readonly how: Network; readonly ms: number }
  | { readonly kind: 'http'; readonly link: HttpLink; readonly how: FaultName; readonly ms: number }
  | { readonly kind: 'disk'; readonly ms: number };

/** `at`: milliseconds from the start of the faults. */
export type Planned = Fault & { readonly at: number };

const NETWORK: readonly Network[] = ['latency', 'cuts', 'resets', 'stall', 'refusals'];
const HTTP: readonly FaultName[] = [
  'drop-request',
  'drop-reply',
  'delay-request',
  'delay-reply',
  'duplicate',
  'truncate-request',
  'truncate-reply',
  'reset',
];

/** From one fault to the next, ms. Too low: nothing happens between that a fault could break. */
const GAP = { from: 1_000, to: 7_000 } as const;
/** How long a fault lasts, ms. */
const LASTS = { from: 300, to: 6_000 } as const;
/**
 * A sandbox worker that is paused for longer than its heartbeats may be missing (20 s) is taken for dead, and comes
 * back as a zombie. Only in a run that is long enough for some of them.
 */
const ZOMBIE = { from: 22_000, to: 28_000, shareOfPauses: 8, leastMs: 90_000 } as const;

export interface ScheduleSettings {
  /** The artifact disk can be filled. */
  readonly disk?: boolean;
  /** Tool servers are programs, and victims. */
  readonly servers?: boolean;
}

/** Faults for `ms` milliseconds; the last begins before that, none lasts beyond it. */
export function schedule(seed: number, ms: number, settings: ScheduleSettings = {}): readonly Planned[] {
  const random = randomStream('chaos', seed);
  const planned: Planned[] = [];
  for (let at = GAP.from; at < ms; at += within(random, GAP)) {
    planned.push({ at, ...draw(random, ms, ms - at, settings) });
  }
  return planned;
}

function draw(random: RandomStream, all: number, left: number, { disk, servers }: ScheduleSettings): Fault {
  const ms = Math.min(within(random, LASTS), left);
  const kind = random.below(20 + (disk ? 1 : 0) + (servers ? 3 : 0));
  if (kind >= 20 && !(disk && kind === 20)) return serverFault(random, ms);
  if (kind < 8) return { kind: 'kill', victim: victim(random, 17) };
  if (kind < 12) {
    const paused = victim(random, 16);
    const zombie = Math.min(within(random, ZOMBIE), left);
    if (all >= ZOMBIE.leastMs && random.below(ZOMBIE.shareOfPauses) === 0) {
      return { kind: 'pause', victim: 'worker-sandbox', ms: zombie };
    }
    return { kind: 'pause', victim: paused === 'everything' ? 'temporal' : paused, ms };
  }
  if (kind < 17) return { kind: 'network', link: one(random, LINKS), how: one(random, NETWORK), ms };
  if (kind < 20) {
    // Most of what the contract of the trainer is about is lost and doubled replies.
    const link = random.below(3) === 0 ? 'endpoints' : 'trainer';
    return { kind: 'http', link, how: one(random, HTTP), ms };
  }
  return { kind: 'disk', ms };
}

function serverFault(random: RandomStream, ms: number): Fault {
  return random.below(3) === 0
    ? { kind: 'pause', victim: 'tool-server', ms }
    : { kind: 'kill', victim: 'tool-server' };
}

/** Each process twice as often as everything at once. */
function victim(random: RandomStream, among: number): Victim {
  return VICTIMS[Math.floor(random.below(among) / 2)] ?? 'everything';
}

function one<T>(random: RandomStream, items: readonly T[]): T {
  return items[random.below(items.length)] as T;
}

function within(random: RandomStream, { from, to }: { readonly from: number; readonly to: number }): number {
  return from + random.below(to - from);
}

/** `kill trainer`, `network postgres stall 2.1 s`. */
export function inWords(fault: Fault): string {
  const parts: string[] = [nameOf(fault)];
  if ('ms' in fault) parts.push(`${(fault.ms / 1000).toFixed(1)} s`);
  return parts.join(' ');
}

/** By what faults are counted: without times. */
export function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
    case 'pause':
      return `${fault.kind} ${fault.victim}`;
    case 'network':
    case 'http':
      return `${fault.kind} ${fault.link} ${fault.how}`;
    case 'disk':
      return 'disk full';
  }
}
