/** Lost cards: block the card of each named color, and order a new one where the client wants one. */
import { call, goodbye, type Slots, wordAfter } from '../script.js';
import type { Write } from '../world/domains.js';
import { cardOf, clientCards, NEW_CARD_SENTENCE } from './accounts.js';
import type { Template } from './template.js';

/** Colors that the request names: `color`, and the second of `also` (` and the blue card`). */
function colorsOf(slots: Slots): string[] {
  const second = /the (\w+) card/.exec(slots.also ?? '')?.[1];
  return [slots.color ?? '', ...(second === undefined ? [] : [second])];
}

export const lostCard: Template = {
  name: 'lost_card',
  domain: 'bank',
  branches: ['new', 'block', 'both'],
  wordings: {
    train: [
      'client {client} lost the {color} card{also} .{renew}',
      'i am client {client} and my {color} card{also} is gone .{renew}',
      'i lost the {color} card{also} . i am client {client} .{renew}',
      'the {color} card{also} of client {client} is gone .{renew}',
      'i am client {client} . i can not find the {color} card{also} .{renew}',
      'my {color} card{also} is gone . please help client {client} .{renew}',
    ],
    benchmark: [
      'i am client {client} . i lost my {color} card{also} .{renew}',
      'my {color} card{also} is gone . i am client {client} .{renew}',
    ],
  },
  scene(draw, branch) {
    const { client, color, otherColor, start } = clientCards(draw);
    const also = branch === 'both' ? ` and the ${otherColor} card` : '';
    const renew = branch === 'new' ? NEW_CARD_SENTENCE : '';
    return { start, slots: { client, color, also, renew }, facts: {} };
  },
  writes({ start, slots }) {
    const cards = colorsOf(slots).map((color) => cardOf(start, slots.client, color));
    const blocks: Write[] = cards.map((card) => ({ tool: 'block_card', args: { card } }));
    return slots.renew === '' ? blocks : [...blocks, { tool: 'order_card', args: { card: cards[0] ?? '' } }];
  },
  *script(slots, agent) {
    let card = '';
    for (const color of colorsOf(slots)) {
      const found = yield call('find_card', { client: slots.client ?? '', color });
      card = wordAfter(found, 'card') ?? '';
      if (!agent.slips('forget_write')) yield call('block_card', { card });
    }
    // A new card that nobody wanted is the eager mistake here.
    const orders = slots.renew === '' ? agent.slips('eager') : !agent.slips('timid');
    if (orders) yield call('order_card', { card });
    yield goodbye;
  },
};
