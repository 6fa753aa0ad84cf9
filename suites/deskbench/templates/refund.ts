/** Refunds: recent and under the limit, refund; over it, ask for approval; late, deny. By order, or found by item. */
import {
  amountIn,
  type Chooser,
  call,
  decide,
  goodbyeWithAmount,
  hasWord,
  rowFor,
  type Script,
} from '../script.js';
import type { Write } from '../world/domains.js';
import { customerOrders, type OrderWish, orderRow, refundRule, singleOrder } from './orders.js';
import { type Template, tellSlot } from './template.js';

const WISHES: Readonly<Record<string, OrderWish>> = {
  refund: { status: 'delivered', age: 'recent', side: 'under' },
  refund_told: { status: 'delivered', age: 'recent', side: 'under' },
  approve: { status: 'delivered', age: 'recent', side: 'over' },
  deny: { status: 'delivered', age: 'late' },
};
const BRANCHES = Object.keys(WISHES);
const TOOLS = ['refund_order', 'request_approval', 'deny_request'] as const;
type RefundTool = (typeof TOOLS)[number];

function wishOf(branch: string): OrderWish {
  return WISHES[branch] ?? { status: 'delivered' };
}

/** The call that settles a refund wish. */
export function settle(tool: RefundTool, order: string): Write {
  return { tool, args: tool === 'refund_order' ? { order } : { case: order } };
}

/** Reads the order, decides, acts, says goodbye. */
export function* refundScript(order: string, wantsAmount: boolean, agent: Chooser): Script {
  let tool: RefundTool = 'refund_order';
  let seen = '';
  if (!agent.slips('skip_read')) {
    seen = yield call('get_order', { order });
    const right = hasWord(seen, 'late')
      ? 'deny_request'
      : hasWord(seen, 'over')
        ? 'request_approval'
        : 'refund_order';
    tool = decide<RefundTool>(agent, right, 'refund_order', ['request_approval', 'deny_request']);
  }
  if (!agent.slips('forget_write')) {
    const write = settle(tool, order);
    const answer = yield call(write.tool, write.args);
    seen = amountIn(answer) ? answer : seen;
  }
  yield goodbyeWithAmount(agent, wantsAmount, amountIn(seen));
}

export const refund: Template = {
  name: 'refund',
  domain: 'retail',
  branches: BRANCHES,
  wordings: {
    train: [
      'please refund order {order} .{tell}',
      'i want my money back for order {order} .{tell}',
      'hello , order {order} did not fit . i want a refund .{tell}',
      'refund {order} please .{tell}',
    ],
    benchmark: [
      'hello , please refund my order {order} .{tell}',
      'my order {order} did not fit . i want my money back please .{tell}',
    ],
  },
  scene(draw, branch) {
    const { order, start } = singleOrder(draw, wishOf(branch));
    const told = branch === 'refund_told';
    return {
      start,
      slots: { order, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${orderRow(start, order).total}` } : {}),
    };
  },
  writes: ({ start, slots }) => [settle(refundRule(orderRow(start, slots.order)), slots.order ?? '')],
  script: (slots, agent) => refundScript(slots.order ?? '', slots.tell !== '', agent),
};

export const refundLookup: Template = {
  name: 'refund_lookup',
  domain: 'retail',
  branches: BRANCHES,
  wordings: {
    train: [],
    benchmark: [
      'customer {customer} wants a refund for the {item} .{tell}',
      'please refund the {item} of customer {customer} .{tell}',
    ],
  },
  scene(draw, branch) {
    const { customer, order, item, start } = customerOrders(draw, wishOf(branch), { status: 'delivered' });
    const told = branch === 'refund_told';
    return {
      start,
      slots: { customer, item, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${orderRow(start, order).total}` } : {}),
    };
  },
  writes({ start, slots }) {
    const [order, row] =
      Object.entries(start.orders ?? {}).find(
        ([, candidate]) => candidate.customer === slots.customer && candidate.item === slots.item,
      ) ?? [];
    if (!order || !row) throw new Error('the scene lacks the item that it asks about');
    return [settle(refundRule(row), order)];
  },
  *script(slots, agent) {
    const list = yield call('find_orders', { customer: slots.customer ?? '' });
    const order = rowFor(agent, list, slots.item ?? '') ?? '';
    yield* refundScript(order, slots.tell !== '', agent);
  },
};
