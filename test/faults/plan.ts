/**
 * Which fault meets which request: rules with shares, drawn from a seed, changeable while the proxy runs. The n-th
 * event draws the same number for the same seed, whatever the rules say.
 */
import { randomStream } from '../../core/random.js';

export const FAULTS = {
  'drop-request': 'never arrives; the connection is reset after `ms`',
  'drop-reply': 'arrives and is answered; the answer is thrown away and the connection reset after `ms`',
  'delay-request': 'arrives `ms` late, also when the sender has gone',
  'delay-reply': 'is answered `ms` late',
  duplicate: 'arrives twice, one after the other; the second answer is given',
  'truncate-request': 'half of it arrives, then the connection is reset',
  'truncate-reply': 'is answered in full; half of the answer arrives, then a reset',
  reset: 'the connection is reset at once, nothing arrives',
} as const;

export type FaultName = keyof typeof FAULTS;

export interface FaultRule {
  readonly fault: FaultName;
  /** Of the requests that it could meet, 0 to 1; 1 when absent. */
  readonly share?: number;
  /** Only requests whose path begins so. */
  readonly path?: string;
  /** Ends after so many; never when absent. */
  readonly times?: number;
  /** 0 when absent. */
  readonly ms?: number;
}

export interface FaultEvent {
  readonly fault: FaultName;
  readonly path: string;
}

export class FaultPlan {
  /** What has happened, oldest first. */
  readonly events: FaultEvent[] = [];
  private rules: { readonly rule: FaultRule; left: number }[] = [];
  private readonly random;

  constructor(seed: number, rules: readonly FaultRule[] = []) {
    this.random = randomStream('faults', seed);
    this.set(rules);
  }

  /** The rules from now on; none: everything passes. */
  set(rules: readonly FaultRule[]): void {
    this.rules = rules.map((rule) => ({ rule, left: rule.times ?? Number.POSITIVE_INFINITY }));
  }

  /** The first rule that meets this request. */
  next(path: string): FaultRule | undefined {
    const draw = this.random.uint32() / 2 ** 32;
    let passed = 0;
    for (const entry of this.rules) {
      const { rule } = entry;
      if (entry.left <= 0 || (rule.path !== undefined && !path.startsWith(rule.path))) continue;
      passed += rule.share ?? 1;
      if (draw >= passed) continue;
      entry.left--;
      this.events.push({ fault: rule.fault, path });
      return rule;
    }
    return undefined;
  }
}
