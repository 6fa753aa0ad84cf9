/** Cancellations: an item of a customer, or two at once. Pending orders are cancelled, shipped ones denied. */
import {
  amountIn,
  type Chooser,
  call,
  decide,
  goodbye,
  goodbyeWithAmount,
  hasWord,
  rowFor,
  type Script,
  type Slots,
} from '../script.js';
import type { Write } from '../world/domains.js';
import type { Tables } from '../world/tables.js';
import { customerOrders, isOpen } from './orders.js';
import { type Template, tellSlot } from './template.js';

type CancelTool = 'cancel_order' | 'deny_request';

function settle(tool: CancelTool, order: string): Write {
  return { tool, args: tool === 'cancel_order' ? { order } : { case: order } };
}

/** The wanted change for the customer's order of `item`. */
function wanted(start: Tables, slots: Slots, item: string | undefined): Write {
  const [order, row] =
    Object.entries(start.orders ?? {}).find(
      ([, candidate]) => candidate.customer === slots.customer && candidate.item === item,
    ) ?? [];
  if (!order || !row) throw new Error('the scene lacks the item that it asks about');
  return settle(isOpen(row) ? 'cancel_order' : 'deny_request', order);
}

/** Reads one order, decides and acts; returns the last text that told an amount. */
function* cancelOne(order: string, agent: Chooser): Generator<ReturnType<typeof call>, string, string> {
  let tool: CancelTool = 'cancel_order';
  let seen = '';
  if (!agent.slips('skip_read')) {
    seen = yield call('get_order', { order });
    const right = hasWord(seen, 'pending') ? 'cancel_order' : 'deny_request';
    tool = decide<CancelTool>(agent, right, 'cancel_order', ['deny_request']);
  }
  if (agent.slips('forget_write')) return seen;
  const write = settle(tool, order);
  const answer = yield call(write.tool, write.args);
  return amountIn(answer) ? answer : seen;
}

export const cancel: Template = {
  name: 'cancel',
  domain: 'retail',
  branches: ['cancel', 'deny', 'cancel_told', 'deny'],
  wordings: {
    train: [
      'customer {customer} wants to cancel the {item} .{tell}',
      'please cancel the {item} of customer {customer} .{tell}',
      'i am customer {customer} and want to stop the order of the {item} .{tell}',
      'hello , customer {customer} . cancel my {item} please .{tell}',
    ],
    benchmark: [
      'hello , i am customer {customer} . please cancel the {item} .{tell}',
      'please stop the {item} . customer {customer} wants to cancel .{tell}',
    ],
  },
  scene(draw, branch) {
    const { customer, order, item, start } = customerOrders(
      draw,
      { status: branch === 'deny' ? 'shipped' : 'pending' },
      { status: draw.pick(['pending', 'shipped'] as const) },
    );
    const told = branch === 'cancel_told';
    return {
      start,
      slots: { customer, item, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${start.orders?.[order]?.total}` } : {}),
    };
  },
  writes: ({ start, slots }) => [wanted(start, slots, slots.item)],
  *script(slots, agent) {
    const list = yield call('find_orders', { customer: slots.customer ?? '' });
    const seen: string = yield* cancelOne(rowFor(agent, list, slots.item ?? '') ?? '', agent);
    yield goodbyeWithAmount(agent, slots.tell !== '', amountIn(seen));
  },
};

export const cancelTwo: Template = {
  name: 'cancel_two',
  domain: 'retail',
  branches: ['pending', 'shipped'],
  wordings: {
    train: [],
    benchmark: [
      'customer {customer} wants to cancel the {item} and the {second} .',
      'please cancel the {item} and the {second} of customer {customer} .',
    ],
  },
  scene(draw, branch) {
    const status = branch === 'pending' ? 'pending' : 'shipped';
    const { customer, item, otherItem, start } = customerOrders(draw, { status: 'pending' }, { status });
    return { start, slots: { customer, item, second: otherItem }, facts: {} };
  },
  writes: ({ start, slots }) => [wanted(start, slots, slots.item), wanted(start, slots, slots.second)],
  *script(slots: Slots, agent: Chooser): Script {
    const list = yield call('find_orders', { customer: slots.customer ?? '' });
    yield* cancelOne(rowFor(agent, list, slots.item ?? '') ?? '', agent);
    yield* cancelOne(rowFor(agent, list, slots.second ?? '') ?? '', agent);
    yield goodbye;
  },
};
