/** Watching a campaign until it ends, is paused, or the person has seen enough. Watching changes nothing. */

import { setTimeout as sleep } from 'node:timers/promises';
import { logUpdateStderr } from 'log-update';
import pc from 'picocolors';
import type { CampaignRow } from '../../core/ledger.js';
import { readState } from '../../infra/stack/info.js';
import type { StackContext } from '../context.js';
import { say } from '../output.js';
import { patiently } from './patiently.js';
import { progressLine } from './progress.js';
import { servingTexts } from './servings.js';
import { snapshot } from './snapshot.js';
import { type Trouble, troublesOf, troubleText } from './troubles.js';
import { unattendedTexts } from './unattended.js';
import { waitingTexts } from './waiting.js';

const POLL_MS = 1_000;
/** Nothing has ended for so long: ask Temporal what is being tried again. */
const STALLED_MS = 6_000;
/** Without a terminal: a line at most this often, and whenever a state changes. */
const PLAIN_EVERY_MS = 10_000;

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** Progress goes to standard error; false shows nothing. */
  readonly show: boolean;
  /** True for `status --watch`, which goes on through pauses. */
  readonly throughPauses?: boolean;
}

/** Resolves with the row when the campaign is no longer running, or with undefined when the signal was aborted. */
export async function watch(
  context: StackContext,
  id: string,
  { signal, show, throughPauses = false }: WatchOptions,
): Promise<CampaignRow | undefined> {
  const ledger = await context.ledger();
  const painter = show ? (process.stderr.isTTY ? terminalPainter() : plainPainter()) : undefined;
  const stall = new Stall();
  try {
    while (!signal.aborted) {
      const seen = await patiently(() => snapshot(ledger, id));
      if (!seen) {
        refuseStopped(context);
        painter?.paint(unattended(context));
      } else {
        const stalled = stall.lasts(seen);
        const troubles = stalled ? await troublesIfKnown(context, [id, ...idsOf(seen)]) : [];
        const waits = stalled
          ? [
              ...waitingTexts((await patiently(async () => (await context.rates()).list())) ?? []),
              ...((await patiently(async () => servingTexts(await context.servings(), idsOf(seen)))) ?? []),
            ]
          : [];
        painter?.paint([
          ...seen.campaigns.map((campaign) => ({
            id: campaign.id,
            state: campaign.state,
            line: progressLine(campaign),
          })),
          ...(stalled ? unattended(context) : []),
          ...waits.map((text) => ({ id: 'providers', state: 'running', line: pc.yellow(`! ${text}`) })),
          ...troubles.map((trouble) => ({
            id: `${trouble.activity} ${trouble.reason}`,
            state: 'running',
            line: pc.yellow(`! ${troubleText(trouble)}`),
          })),
        ]);
        const stuck = seen.campaigns.find((campaign) => campaign.state === 'paused');
        if (seen.row.state !== 'running' && !(seen.row.state === 'paused' && throughPauses)) return seen.row;
        if (stuck && !throughPauses) return { ...seen.row, state: 'paused', result: { cause: stuck.cause } };
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
    return undefined;
  } finally {
    painter?.done();
  }
}

/** The stack that was to run the campaign has been stopped by somebody else: nothing would ever change. */
function refuseStopped({ info }: StackContext): void {
  // Without processes it is not a local stack, and its silence is the network's.
  if (info.processes.length === 0 || readState(info.home)) return;
  throw new Error('the local stack was stopped while this was watched; run the same command again to go on');
}

function unattended({ info }: StackContext): readonly Painted[] {
  return unattendedTexts(info).map((text) => ({
    id: 'stack',
    state: 'running',
    line: pc.yellow(`! ${text}`),
  }));
}

type Seen = NonNullable<Awaited<ReturnType<typeof snapshot>>>;

const idsOf = ({ campaigns }: Seen): string[] => campaigns.map((campaign) => campaign.id);

/** Tells when nothing has ended for a while. */
class Stall {
  #counts = '';
  #since = Date.now();

  lasts({ campaigns }: Seen): boolean {
    const counts = JSON.stringify(campaigns.map(({ id, state, counts: each }) => [id, state, each]));
    if (counts !== this.#counts) this.#since = Date.now();
    this.#counts = counts;
    return Date.now() - this.#since > STALLED_MS;
  }
}

/** What a run that stands still waits for; nothing while Temporal is the one that does not answer. */
async function troublesIfKnown(context: StackContext, ids: readonly string[]): Promise<readonly Trouble[]> {
  try {
    return await troublesOf(await context.temporal(), ids);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ activity: 'Temporal', reason: 'unreachable', count: 1, attempt: 1, message }];
  }
}

interface Painted {
  readonly id: string;
  readonly state: string;
  readonly line: string;
}

function terminalPainter() {
  return {
    paint: (lines: readonly Painted[]) => logUpdateStderr(lines.map(({ line }) => line).join('\n')),
    done: () => logUpdateStderr.done(),
  };
}

function plainPainter() {
  const shown = new Map<string, { state: string; at: number }>();
  return {
    paint(lines: readonly Painted[]) {
      const now = Date.now();
      for (const { id, state, line } of lines) {
        const last = shown.get(id);
        if (last && last.state === state && (state !== 'running' || now - last.at < PLAIN_EVERY_MS)) continue;
        shown.set(id, { state, at: now });
        say(line);
      }
    },
    done: () => undefined,
  };
}
