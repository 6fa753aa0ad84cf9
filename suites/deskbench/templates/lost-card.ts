/** Lost cards: block the card of the named color, and order a new one where the client wants one. One card, or both. */
import { call, goodbye, rowFor } from '../script.js';
import type { Write } from '../world/domains.js';
import type { Tables } from '../world/tables.js';
import { clientCards } from './accounts.js';
import type { Template } from './template.js';

const NEW_SENTENCE = ' i need a new card .';

/** The client's card of a color. */
function cardOf(start: Tables, client: string | undefined, color: string | undefined): string {
  const found = Object.entries(start.cards ?? {}).find(
    ([, row]) => row.client === client && row.color === color,
  );
  if (!found) throw new Error('the scene lacks the card that it asks about');
  return found[0];
}

export const lostCard: Template = {
  name: 'lost_card',
  domain: 'bank',
  branches: ['new', 'block'],
  wordings: {
    train: [
      'client {client} lost the {color} card .{renew}',
      'i am client {client} and my {color} card is gone .{renew}',
      'hello , i lost the {color} card . client {client} .{renew}',
      'the {color} card of client {client} is gone .{renew}',
    ],
    benchmark: [
      'hello , i am client {client} . i lost my {color} card .{renew}',
      'my {color} card is gone . i am client {client} .{renew}',
    ],
  },
  scene(draw, branch) {
    const { client, color, start } = clientCards(draw);
    return { start, slots: { client, color, renew: branch === 'new' ? NEW_SENTENCE : '' }, facts: {} };
  },
  writes({ start, slots }) {
    const card = cardOf(start, slots.client, slots.color);
    const block: Write = { tool: 'block_card', args: { card } };
    return slots.renew === '' ? [block] : [block, { tool: 'order_card', args: { card } }];
  },
  *script(slots, agent) {
    const list = yield call('list_cards', { client: slots.client ?? '' });
    const card = rowFor(agent, list, slots.color ?? '') ?? '';
    if (slots.renew === '') {
      if (!agent.slips('forget_write')) yield call('block_card', { card });
      // A new card that nobody wanted is the eager mistake here.
      if (agent.slips('eager')) yield call('order_card', { card });
    } else {
      if (!agent.slips('forget_write')) yield call('block_card', { card });
      if (!agent.slips('forget_write')) yield call('order_card', { card });
    }
    yield goodbye;
  },
};

export const lostTwo: Template = {
  name: 'lost_two',
  domain: 'bank',
  branches: ['both'],
  wordings: {
    train: [],
    benchmark: [
      'client {client} lost the {color} card and the {second} card .',
      'i am client {client} . my {color} card and my {second} card is gone .',
    ],
  },
  scene(draw) {
    const { client, color, otherColor, start } = clientCards(draw);
    return { start, slots: { client, color, second: otherColor }, facts: {} };
  },
  writes: ({ start, slots }) =>
    [slots.color, slots.second].map((color) => ({
      tool: 'block_card',
      args: { card: cardOf(start, slots.client, color) },
    })),
  *script(slots, agent) {
    const list = yield call('list_cards', { client: slots.client ?? '' });
    yield call('block_card', { card: rowFor(agent, list, slots.color ?? '') ?? '' });
    if (!agent.slips('forget_write')) {
      yield call('block_card', { card: rowFor(agent, list, slots.second ?? '') ?? '' });
    }
    yield goodbye;
  },
};
