/** What `compare` is given: campaigns of the ledger, and files of result rows. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { ComparedSide } from '../activities/report/collect/side.js';
import { readIdList } from '../activities/report/select-files.js';
import { UsageError } from '../core/faults.js';
import { type PriceTable, priceOf } from '../core/prices.js';
import { domainOf } from '../suites/thinkingbox/domains.js';
import type { StackContext } from './context.js';
import { resolveEvaluation } from './run/find.js';

export interface SideOptions {
  /** For files: the tasks that were to be run, and how often each. */
  readonly tests?: string;
  readonly repeat?: number;
  readonly prices: PriceTable | null;
  readonly allowIncomplete: boolean;
  readonly systemErrorsAsFailed: boolean;
}

export type SideName =
  | { readonly kind: 'campaign'; readonly name: string }
  | { readonly kind: 'files'; readonly name: string; readonly files: readonly string[] };

const ENDINGS = /\.jsonl?(\.gz)?$/;

/** `NAME=FILE[,FILE]` and everything that is a file, or is called like one, is files; the rest are campaigns. */
export function sideName(text: string): SideName {
  const equals = text.indexOf('=');
  if (equals > 0) {
    return { kind: 'files', name: text.slice(0, equals), files: text.slice(equals + 1).split(',') };
  }
  if (ENDINGS.test(text) || statSync(text, { throwIfNoEntry: false })?.isFile()) {
    return { kind: 'files', name: basename(text).replace(ENDINGS, ''), files: [text] };
  }
  return { kind: 'campaign', name: text };
}

/** Names that are told apart: the second of a name gets its number. */
export function distinct(names: readonly SideName[]): readonly SideName[] {
  const seen = new Map<string, number>();
  return names.map((side) => {
    const times = (seen.get(side.name) ?? 0) + 1;
    seen.set(side.name, times);
    return side.kind === 'files' && times > 1 ? { ...side, name: `${side.name} (${times})` } : side;
  });
}

/** `context` may be null where no campaign is among the names. Throws `UsageError`, also for a model without a price. */
export async function openSide(
  side: SideName,
  options: SideOptions,
  context: StackContext | null,
): Promise<ComparedSide> {
  if (side.kind === 'files') return filesSide(side, options);
  if (context === null) throw new UsageError('compare', 'files of result rows', `"${side.name}"`);
  const { ledgerSide } = await import('../activities/report/collect/ledger-side.js');
  const ledger = await context.ledger();
  const { id } = await resolveEvaluation(ledger, side.name);
  const opened = await ledgerSide(
    {
      ledger,
      artifacts: await context.artifacts(),
      allowIncomplete: options.allowIncomplete,
      ...(options.prices ? { prices: options.prices } : {}),
    },
    id,
  );
  if (options.prices) priceOf(options.prices, opened.evaluation.model);
  return opened;
}

async function filesSide(
  { name, files }: Extract<SideName, { kind: 'files' }>,
  { tests, repeat, prices, allowIncomplete, systemErrorsAsFailed }: SideOptions,
): Promise<ComparedSide> {
  if (tests === undefined || repeat === undefined) {
    const lacking = tests === undefined ? '--tests' : '--repeat';
    throw new UsageError(lacking, `it, to know which rows ${files.join(', ')} must have`, 'nothing');
  }
  const { rowsSide } = await import('../activities/report/collect/rows-side.js');
  const { uids } = await readIdList(tests);
  return rowsSide({
    files,
    name,
    price: prices && { model: name, ...priceOf(prices, name) },
    plan: {
      taskIds: [...uids],
      repeat,
      allowIncomplete,
      systemErrorsAsFailed,
      domainOf: (scenario) => domainOf(scenario, null),
    },
  });
}
