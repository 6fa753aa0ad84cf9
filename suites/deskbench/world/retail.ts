/** The retail desk: orders of customers; refunds, replacements, cancellations and changes of address. */
import { denyRequest, LIMIT, limitWords, requestApproval } from './shared.js';
import { type Row, record } from './tables.js';
import { type DeskTool, findId, rowOf } from './tool.js';

/** Days after delivery within which a refund is possible. */
export const RETURN_DAYS = 30;

/** What an agent is told of an order. Pending and shipped orders have no age. */
function describe(order: Row): string {
  const age = order.status === 'delivered' ? (Number(order.days) > RETURN_DAYS ? ' late' : ' recent') : '';
  return `${order.item} ${order.status}${age} ${limitWords(Number(order.total))} $${order.total} .`;
}

export const retailTools: readonly DeskTool[] = [
  {
    name: 'find_order',
    description: "Find a customer's order of an item; answers its id.",
    parameters: { customer: 'customer id, e.g. c52', item: 'item, one word' },
    writes: false,
    run(tables, args) {
      const id = findId(tables, 'orders', 'order', { customer: args.customer, item: args.item });
      return `order ${id} .`;
    },
  },
  {
    name: 'get_order',
    description: `Read one order: item, status, whether it came recently (within ${RETURN_DAYS} days) or late, whether its total is under or over the limit of $${LIMIT}, and the total.`,
    parameters: { order: 'order id, e.g. r41' },
    writes: false,
    run: (tables, args) => describe(rowOf(tables, 'orders', 'order', args.order)),
  },
  {
    name: 'refund_order',
    description:
      'Refund an order in full. Allowed when it was delivered recently and its total is under the limit. Over the limit use request_approval; for a late delivery use deny_request.',
    parameters: { order: 'order id' },
    writes: true,
    run(tables, args) {
      const order = rowOf(tables, 'orders', 'order', args.order);
      order.status = 'refunded';
      record(tables, 'refunds', args.order ?? '', { amount: order.total ?? 0 });
      return `refunded $${order.total} .`;
    },
  },
  {
    name: 'cancel_order',
    description: 'Cancel an order. Allowed while it is pending; for a shipped order use deny_request.',
    parameters: { order: 'order id' },
    writes: true,
    run(tables, args) {
      const order = rowOf(tables, 'orders', 'order', args.order);
      order.status = 'cancelled';
      record(tables, 'cancellations', args.order ?? '', { amount: order.total ?? 0 });
      return `cancelled $${order.total} .`;
    },
  },
  {
    name: 'change_city',
    description:
      'Send an order to another city. Allowed while it is pending, to the city the customer names when asked; for a shipped order use deny_request.',
    parameters: { order: 'order id', city: 'city, one word' },
    writes: true,
    run(tables, args) {
      const order = rowOf(tables, 'orders', 'order', args.order);
      order.city = args.city ?? '';
      record(tables, 'changes', args.order ?? '', { city: order.city });
      return 'city changed .';
    },
  },
  {
    name: 'send_item',
    description:
      'Send the item of an order again, free of charge, when the customer chooses a replacement for a broken one.',
    parameters: { order: 'order id' },
    writes: true,
    run(tables, args) {
      const order = rowOf(tables, 'orders', 'order', args.order);
      record(tables, 'replacements', args.order ?? '', { item: order.item ?? '' });
      return 'item sent .';
    },
  },
  requestApproval,
  denyRequest,
];
