/** A new city for an order, by order or by item: possible while it is pending, and only the customer knows the city. */
import { call, decide, goodbye, hasWord, say, wordAfter } from '../script.js';
import { CITIES } from '../vocabulary.js';
import { customerOrders, isOpen, orderRow, theOrder } from './orders.js';
import type { Template } from './template.js';

export const address: Template = {
  name: 'address',
  domain: 'retail',
  branches: ['change', 'deny', 'change'],
  wordings: {
    train: [
      'order {order} must go to a new city .',
      'i moved . please send order {order} to my new city .',
      'please change the city of order {order} .',
      'customer {customer} moved . the {item} must go to a new city .',
      'change the address of {order} please .',
      'i am customer {customer} . please send my {item} to a new address .',
      'please change the address of the {item} . customer {customer} moved .',
      'i moved . my order is {order} .',
      'i am customer {customer} . the city of my {item} must change .',
    ],
    benchmark: [
      'i moved . order {order} must go to a new address .',
      'please send {order} to a new city . i moved .',
      'i am customer {customer} . please change the city of my {item} .',
    ],
  },
  scene(draw, branch) {
    const { start, slots, row } = customerOrders(draw, { status: branch === 'deny' ? 'shipped' : 'pending' });
    return { start, slots, facts: { city: draw.pick(CITIES.filter((city) => city !== row.city)) } };
  },
  writes({ start, slots, facts }) {
    const order = slots.order ?? '';
    return isOpen(orderRow(start, order))
      ? [{ tool: 'change_city', args: { order, city: facts.city ?? '' } }]
      : [{ tool: 'deny_request', args: { case: order } }];
  },
  *script(slots, agent) {
    const order: string = yield* theOrder(slots);
    let change = true;
    if (!agent.slips('skip_read')) {
      const seen = yield call('get_order', { order });
      change = decide(agent, hasWord(seen, 'pending'), true, [false]);
    }
    if (!change) {
      if (!agent.slips('forget_write')) yield call('deny_request', { case: order });
      yield goodbye;
      return;
    }
    const asked = agent.slips('no_question') ? undefined : wordAfter(yield say('which city ?'), 'city');
    const city = asked ?? CITIES[0];
    if (!agent.slips('forget_write')) yield call('change_city', { order, city });
    yield goodbye;
  },
};
