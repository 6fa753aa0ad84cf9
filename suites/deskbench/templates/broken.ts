/**
 * A broken item: the customer chooses a refund (approval over the limit) or a replacement, and must be asked which;
 * an order that came too long ago is denied either.
 */
import { amountIn, type Chooser, call, decide, goodbyeWithAmount, hasWord, say } from '../script.js';
import type { Write } from '../world/domains.js';
import { customerOrders, orderRow, refundRule, theOrder } from './orders.js';
import { settle } from './refund.js';
import { type Template, tellSlot } from './template.js';

export const broken: Template = {
  name: 'broken',
  domain: 'retail',
  branches: ['replace', 'refund_told', 'approve', 'deny', 'replace', 'refund'],
  wordings: {
    train: [
      'the {item} from order {order} is broken .{tell}',
      'order {order} came broken .{tell}',
      'my {item} is broken . it is order {order} .{tell}',
      'the {item} does not work . order {order} .{tell}',
      'my order {order} does not work .{tell}',
      'it came broken . my order is {order} .{tell}',
      'the {item} of customer {customer} is broken .{tell}',
      'i am customer {customer} and my {item} does not work .{tell}',
      'customer {customer} has a problem . the {item} came broken .{tell}',
    ],
    benchmark: [
      'order {order} does not work . it is broken .{tell}',
      'my {item} came broken . it is from order {order} .{tell}',
      'my {item} is broken . i am customer {customer} .{tell}',
    ],
  },
  scene(draw, branch) {
    const replace = branch === 'replace' || (branch === 'deny' && draw.uniform() < 0.5);
    const { start, slots, row } = customerOrders(draw, {
      status: 'delivered',
      age: branch === 'deny' ? 'late' : 'recent',
      side: replace ? draw.pick(['over', 'under'] as const) : branch === 'approve' ? 'over' : 'under',
    });
    const told = branch === 'refund_told';
    return {
      start,
      slots: { ...slots, ...tellSlot(told) },
      facts: { choice: replace ? 'replacement' : 'refund' },
      ...(told ? { tell: `$${row.total}` } : {}),
    };
  },
  writes({ start, slots, facts }) {
    const order = slots.order ?? '';
    const rule = refundRule(orderRow(start, order));
    if (rule !== 'deny_request' && facts.choice === 'replacement')
      return [{ tool: 'send_item', args: { order } }];
    return [settle(rule, order)];
  },
  *script(slots, agent) {
    const order: string = yield* theOrder(slots);
    let seen = agent.slips('skip_read') ? '' : yield call('get_order', { order });
    const write = yield* choose(order, seen, agent);
    if (!agent.slips('forget_write')) {
      const answer = yield call(write.tool, write.args);
      seen = amountIn(answer) ? answer : seen;
    }
    yield goodbyeWithAmount(agent, slots.tell !== '', amountIn(seen));
  },
};

/** Asks what the customer wants, unless the order is too old for either, and picks the call. */
function* choose(
  order: string,
  seen: string,
  agent: Chooser,
): Generator<ReturnType<typeof say>, Write, string> {
  const goesOn = seen === '' || decide(agent, !hasWord(seen, 'late'), true, [false]);
  if (!goesOn) return settle('deny_request', order);
  const answer = agent.slips('no_question')
    ? 'choice refund .'
    : yield say('which choice , refund or replacement ?');
  if (hasWord(answer, 'replacement')) return { tool: 'send_item', args: { order } };
  const pay = seen === '' || decide(agent, !hasWord(seen, 'over'), true, [false]);
  return settle(pay ? 'refund_order' : 'request_approval', order);
}
