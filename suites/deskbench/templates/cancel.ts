/** Cancellations by order or by item, or two at once. Pending orders are cancelled, shipped ones denied. */
import {
  amountIn,
  type Chooser,
  call,
  decide,
  goodbye,
  goodbyeWithAmount,
  hasWord,
  type Step,
} from '../script.js';
import type { Write } from '../world/domains.js';
import type { Row } from '../world/tables.js';
import { customerOrders, isOpen, orderOf, orderRow, theOrder } from './orders.js';
import { type Template, tellSlot } from './template.js';

type CancelTool = 'cancel_order' | 'deny_request';

function settle(tool: CancelTool, order: string): Write {
  return { tool, args: tool === 'cancel_order' ? { order } : { case: order } };
}

function wanted(order: string, row: Row): Write {
  return settle(isOpen(row) ? 'cancel_order' : 'deny_request', order);
}

/** Reads one order, decides and acts; returns the last text that told an amount. */
function* cancelOne(order: string, agent: Chooser): Generator<Step, string, string> {
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
      'i am customer {customer} and want to stop the {item} .{tell}',
      'please cancel order {order} .{tell}',
      'i am customer {customer} . cancel my {item} please .{tell}',
      'stop my order of the {item} . i am customer {customer} .{tell}',
      'i want to stop order {order} .{tell}',
      'please stop the {item} . i am customer {customer} .{tell}',
      'customer {customer} wants to stop the {item} please .{tell}',
      'i want to cancel my order . it is {order} .{tell}',
      'cancel order {order} please .{tell}',
    ],
    benchmark: [
      'i am customer {customer} . please stop the {item} .{tell}',
      'please cancel my {item} . i am customer {customer} .{tell}',
      'stop {order} please . i want to cancel my order .{tell}',
    ],
  },
  scene(draw, branch) {
    const { start, slots, row } = customerOrders(draw, { status: branch === 'deny' ? 'shipped' : 'pending' });
    const told = branch === 'cancel_told';
    return {
      start,
      slots: { ...slots, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${row.total}` } : {}),
    };
  },
  writes: ({ start, slots }) => [wanted(slots.order ?? '', orderRow(start, slots.order))],
  *script(slots, agent) {
    const order: string = yield* theOrder(slots);
    const seen: string = yield* cancelOne(order, agent);
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
    const { start, slots } = customerOrders(draw, { status: 'pending' }, { status });
    return { start, slots, facts: {} };
  },
  writes: ({ start, slots }) =>
    [slots.item, slots.second].map((item) => wanted(...orderOf(start, slots.customer, item))),
  *script(slots, agent) {
    for (const item of [slots.item, slots.second]) {
      const order: string = yield* theOrder(slots, item);
      yield* cancelOne(order, agent);
    }
    yield goodbye;
  },
};
