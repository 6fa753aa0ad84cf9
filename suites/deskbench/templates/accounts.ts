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

/** A payment of interest with its card, and a payment with another card. */
export function cardPayment(draw: Draw, wish: PaymentWish): { payment: string; card: string; start: Tables } {
  const { card, otherCard, start } = clientCards(draw);
  const payment = draw.id('payment');
  const payments = {
    [payment]: { card, status: wish.status, amount: draw.amount(wish.side) },
    [draw.id('payment')]: { card: otherCard, status: 'settled', amount: draw.amount() },
  };
  return { payment, card, start: { ...start, payments } };
}

export function paymentRow(start: Tables, id: string | undefined): Row {
  const row = id === undefined ? undefined : start.payments?.[id];
  if (!row) throw new Error(`the scene has no payment ${id ?? '(none)'}`);
  return row;
}
