/**
 * How often the noisy demonstrator gets each kind of decision wrong. The base policy is cloned from its
 * demonstrations, so these rates are the base's faults, by construction: several moderate ones, each an error of
 * judgement that shows in one or two tokens, since top-p 0.95 never samples what falls under 5 %.
 */
import type { Draw } from './draw.js';
import { type Chooser, SLIPS, type Slip } from './script.js';

export type SlipRates = Readonly<Record<Slip, number>>;

export const DEFAULT_RATES: SlipRates = {
  skip_read: 0.16,
  eager: 0.32,
  timid: 0.14,
  no_question: 0.22,
  forget_write: 0.14,
  no_amount: 0.25,
};

/** The same chance of every slip, for tests of the orchestration. */
export function uniformRates(rate: number): SlipRates {
  return Object.fromEntries(Object.keys(SLIPS).map((slip) => [slip, rate])) as Record<Slip, number>;
}

export function noisy(draw: Draw, rates: SlipRates = DEFAULT_RATES): Chooser {
  return {
    slips: (kind) => draw.uniform() < rates[kind],
    pick: (options) => draw.pick(options),
  };
}
