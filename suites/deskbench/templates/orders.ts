/** Orders as start states, how an agent finds one, and the retail desk's rules about them. */
import type { Draw } from '../draw.js';
import { call, type Slots, type Step, wordAfter } from '../script.js';
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
function makeOrder(draw: Draw, customer: string, item: string, wish: OrderWish): Row {
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

export interface OrderScene {
  readonly start: Tables;
  /** `order`, `customer` and `item` of the order of interest, `second`: the item of the customer's other order. */
  readonly slots: Slots & { readonly order: string };
  readonly row: Row;
}

/** Two orders of one customer with different items, in drawn order, and one of another customer. */
export function customerOrders(draw: Draw, wish: OrderWish, otherWish?: OrderWish): OrderScene {
  const customer = draw.id('customer');
  const [item, second] = draw.pickTwo(ITEMS);
  const order = draw.id('order');
  const row = makeOrder(draw, customer, item, wish);
  const other = otherWish ?? { status: draw.pick(['pending', 'shipped', 'delivered'] as const) };
  const rows: [string, Row][] = [
    [order, row],
    [draw.id('order'), makeOrder(draw, customer, second, other)],
  ];
  if (draw.uniform() < 0.5) rows.reverse();
  rows.push([draw.id('order'), makeOrder(draw, draw.id('customer'), item, { status: 'delivered' })]);
  return { start: { orders: Object.fromEntries(rows) }, slots: { order, customer, item, second }, row };
}

/** The order that the request names, or the customer's order of the item that it names; empty when there is none. */
export function* theOrder(slots: Slots, item: string = slots.item ?? ''): Generator<Step, string, string> {
  if (slots.order !== undefined) return slots.order;
  const found = yield call('find_order', { customer: slots.customer ?? '', item });
  return wordAfter(found, 'order') ?? '';
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

/** Id and row of a customer's order of an item. */
export function orderOf(
  start: Tables,
  customer: string | undefined,
  item: string | undefined,
): [string, Row] {
  const found = Object.entries(start.orders ?? {}).find(
    ([, row]) => row.customer === customer && row.item === item,
  );
  if (!found) throw new Error('the scene lacks the item that it asks about');
  return found;
}
