/** What a budget buys: cost of an evaluation against pass@1, for every evaluation of the comparison. */
import { type FrontierPoint, frontierChart } from '../charts/frontier.js';
import { type ComparisonData, evaluationsOf } from '../comparison-data.js';
import { compact, count, dollars } from '../format.js';
import { type Html, html } from '../html.js';
import { policyTokens } from './cost.js';
import { section } from './section.js';
import { isPartial, overall } from './totals.js';

/** Cents only where ticks are less than a dollar apart. */
function wholeDollars(cost: number): string {
  return Number.isInteger(cost) ? `$${count(cost)}` : dollars(cost);
}

export function frontierSection(data: ComparisonData): Html {
  const shown = evaluationsOf(data).filter((each) => each.scores);
  const priced = shown.every((each) => each.cost !== null);
  const points = shown.flatMap((each): FrontierPoint[] => {
    const all = overall(each);
    const cost = priced ? each.cost?.total : policyTokens(each);
    if (!all || !cost) return [];
    const kind = each === data.before ? 'before' : each === data.after ? 'after' : 'other';
    const name = isPartial(each) ? `${each.id} (incomplete)` : each.id;
    return [{ name, cost, score: all.passAt1.value, estimate: all.passAt1, kind }];
  });
  if (points.length < 2) return html``;
  return section(
    'frontier',
    'Cost against score',
    html`pass@1 over the ${priced ? 'dollars' : 'tokens'} that the whole evaluation used. The line is the Pareto front: no evaluation on it is beaten by another one on both. Bars are 95 % intervals of pass@1.`,
    html`<div class="panel">${frontierChart('front', points, priced ? dollars : compact, priced ? wholeDollars : compact)}<p class="legend"><span>across: ${priced ? 'cost of the evaluation' : 'tokens of the evaluation'}</span><span>up: pass@1</span></p></div>`,
  );
}
