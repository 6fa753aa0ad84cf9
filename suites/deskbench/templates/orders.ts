/** Orders as start states, and the retail desk's rules about them. */
import type { Draw } from '../draw.js';
import { CITIES, ITEMS } from '../vocabulary.js';
import { RETURN_DAYS } from '../world/retail.js';
import { LIMIT } from '../world/shared.js';
import type { Row, Tables } from '../world/tables.js';

export interface OrderWish {
  readonly status: 'pending' | 'shipped' | 'delivered';
  readonly age?: 'recent' | 'late';
  readonly side?: 'over' | 'under';
}

/** An order of `customer` as wished. `days` counts since delivery, 0 before it. */
export function makeOrder(draw: Draw, customer: string, item: string, wish: OrderWish): Row {
  const age = wish.age ?? draw.pick(['recent', 'late'] as const);
  const days = age === 'late' ? RETURN_DAYS + draw.amount() : Math.floor(draw.uniform() * RETURN_DAYS) + 1;
  return {
    customer,
    item,
    status: wish.status,
    total: draw.amount(wish.side),
    days: wish.status === 'delivered' ? days : 0,
    city: draw.pick(CITIES),
  };
}

/** One order of interest and one of another customer. */
export function singleOrder(draw: Draw, wish: OrderWish): { order: string; item: string; start: Tables } {
  const order = draw.id('order');
  const [item, otherItem] = draw.pickTwo(ITEMS);
  const start: Tables = {
    orders: {
      [order]: makeOrder(draw, draw.id('customer'), item, wish),
      [draw.id('order')]: makeOrder(draw, draw.id('customer'), otherItem, { status: 'delivered' }),
    },
  };
  return { order, item, start };
}

/** Two orders of one customer with different items, in drawn order; the first named is the one of interest. */
export function customerOrders(
  draw: Draw,
  wish: OrderWish,
  otherWish: OrderWish,
): { customer: string; order: string; item: string; otherOrder: string; otherItem: string; start: Tables } {
  const customer = draw.id('customer');
  const [item, otherItem] = draw.pickTwo(ITEMS);
  const order = draw.id('order');
  const otherOrder = draw.id('order');
  const rows: [string, Row][] = [
    [order, makeOrder(draw, customer, item, wish)],
    [otherOrder, makeOrder(draw, customer, otherItem, otherWish)],
  ];
  if (draw.uniform() < 0.5) rows.reverse();
  return { customer, order, item, otherOrder, otherItem, start: { orders: Object.fromEntries(rows) } };
}

/** What a wish for a refund comes to. */
export function refundRule(order: Row): 'refund_order' | 'request_approval' | 'deny_request' {
  if (order.status !== 'delivered' || Number(order.days) > RETURN_DAYS) return 'deny_request';
  return Number(order.total) > LIMIT ? 'request_approval' : 'refund_order';
}

/** Whether an order can still be stopped or sent elsewhere. */
export function isOpen(order: Row): boolean {
  return order.status === 'pending';
}

export function orderRow(start: Tables, id: string | undefined): Row {
  const row = id === undefined ? undefined : start.orders?.[id];
  if (!row) throw new Error(`the scene has no order ${id ?? '(none)'}`);
  return row;
}
