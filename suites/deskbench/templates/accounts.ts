/** Cards, payments and accounts as start states of the bank desk. */
import type { Draw } from '../draw.js';
import { COLORS } from '../vocabulary.js';
import type { Row, Tables } from '../world/tables.js';

/** Two cards of one client in different colors, in drawn order; the first named is the one of interest. */
export function clientCards(draw: Draw): {
  client: string;
  card: string;
  color: string;
  otherCard: string;
  otherColor: string;
  start: Tables;
} {
  const client = draw.id('client');
  const [color, otherColor] = draw.pickTwo(COLORS);
  const card = draw.id('card');
  const otherCard = draw.id('card');
  const rows: [string, Row][] = [
    [card, { client, color, status: 'active' }],
    [otherCard, { client, color: otherColor, status: 'active' }],
  ];
  if (draw.uniform() < 0.5) rows.reverse();
  return { client, card, color, otherCard, otherColor, start: { cards: Object.fromEntries(rows) } };
}

export interface PaymentWish {
  readonly status: 'settled' | 'pending';
  readonly side?: 'over' | 'under';
}

/** A payment of interest with its card, and another one, `second`, with another card. */
export function cardPayment(
  draw: Draw,
  wish: PaymentWish,
): { payment: string; second: string; start: Tables; row: Row } {
  const { card, otherCard, start } = clientCards(draw);
  const payment = draw.id('payment');
  const second = draw.id('payment');
  const row: Row = { card, status: wish.status, amount: draw.amount(wish.side) };
  const payments = {
    [payment]: row,
    [second]: { card: otherCard, status: 'settled', amount: draw.amount() },
  };
  return { payment, second, start: { ...start, payments }, row };
}

export function paymentRow(start: Tables, id: string | undefined): Row {
  const row = id === undefined ? undefined : start.payments?.[id];
  if (!row) throw new Error(`the scene has no payment ${id ?? '(none)'}`);
  return row;
}

/** Sentence that asks for a new card; wordings end in `{renew}`, filled with this or with nothing. */
export const NEW_CARD_SENTENCE = ' i need a new card .';

/** The client's card of a color. */
export function cardOf(start: Tables, client: string | undefined, color: string | undefined): string {
  const found = Object.entries(start.cards ?? {}).find(
    ([, row]) => row.client === client && row.color === color,
  );
  if (!found) throw new Error('the scene lacks the card that it asks about');
  return found[0];
}
