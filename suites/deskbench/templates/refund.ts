/** Refunds: recent and under the limit, refund; over it, ask for approval; late, deny. By order, or found by item. */
import { amountIn, call, decide, goodbyeWithAmount, hasWord } from '../script.js';
import type { Write } from '../world/domains.js';
import { customerOrders, type OrderWish, orderRow, refundRule, theOrder } from './orders.js';
import { type Template, tellSlot } from './template.js';

const WISHES: Readonly<Record<string, OrderWish>> = {
  refund: { status: 'delivered', age: 'recent', side: 'under' },
  refund_told: { status: 'delivered', age: 'recent', side: 'under' },
  approve: { status: 'delivered', age: 'recent', side: 'over' },
  deny: { status: 'delivered', age: 'late' },
};
type RefundTool = ReturnType<typeof refundRule>;

/** The call that settles a refund wish. */
export function settle(tool: RefundTool, order: string): Write {
  return { tool, args: tool === 'refund_order' ? { order } : { case: order } };
}

export const refund: Template = {
  name: 'refund',
  domain: 'retail',
  branches: Object.keys(WISHES),
  wordings: {
    train: [
      'please refund order {order} .{tell}',
      'i want my money back for order {order} .{tell}',
      'order {order} did not fit . i want a refund .{tell}',
      'refund {order} please .{tell}',
      'i want a refund . it is order {order} .{tell}',
      'my order {order} did not fit . please refund it .{tell}',
    ],
    benchmark: [
      'i want a refund for my order {order} please .{tell}',
      'order {order} did not fit . i want my money back .{tell}',
    ],
  },
  scene(draw, branch) {
    const { start, slots, row } = customerOrders(draw, WISHES[branch] ?? { status: 'delivered' });
    const told = branch === 'refund_told';
    return {
      start,
      slots: { ...slots, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${row.total}` } : {}),
    };
  },
  writes: ({ start, slots }) => [settle(refundRule(orderRow(start, slots.order)), slots.order ?? '')],
  *script(slots, agent) {
    const order: string = yield* theOrder(slots);
    let tool: RefundTool = 'refund_order';
    let seen = '';
    if (!agent.slips('skip_read')) {
      seen = yield call('get_order', { order });
      const right = hasWord(seen, 'late')
        ? 'deny_request'
        : hasWord(seen, 'over')
          ? 'request_approval'
          : tool;
      tool = decide<RefundTool>(agent, right, tool, ['request_approval', 'deny_request']);
    }
    if (!agent.slips('forget_write')) {
      const write = settle(tool, order);
      const answer = yield call(write.tool, write.args);
      seen = amountIn(answer) ? answer : seen;
    }
    yield goodbyeWithAmount(agent, slots.tell !== '', amountIn(seen));
  },
};

export const refundLookup: Template = {
  ...refund,
  name: 'refund_lookup',
  wordings: {
    train: [],
    benchmark: [
      'customer {customer} wants a refund for the {item} .{tell}',
      'please refund the {item} of customer {customer} .{tell}',
    ],
  },
};
