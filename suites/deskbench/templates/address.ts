/** A new city for an order: possible while it is pending, and only the customer knows the city. */
import { call, decide, goodbye, hasWord, say, wordAfter } from '../script.js';
import { CITIES } from '../vocabulary.js';
import { isOpen, orderRow, singleOrder } from './orders.js';
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
      'hello , change the address of {order} please .',
    ],
    benchmark: [
      'hello , i moved . order {order} must go to a new address .',
      'please send {order} to a new city . i moved .',
    ],
  },
  scene(draw, branch) {
    const { order, start } = singleOrder(draw, { status: branch === 'deny' ? 'shipped' : 'pending' });
    const old = orderRow(start, order).city;
    return { start, slots: { order }, facts: { city: draw.pick(CITIES.filter((city) => city !== old)) } };
  },
  writes({ start, slots, facts }) {
    const order = slots.order ?? '';
    return isOpen(orderRow(start, order))
      ? [{ tool: 'change_city', args: { order, city: facts.city ?? '' } }]
      : [{ tool: 'deny_request', args: { case: order } }];
  },
  *script(slots, agent) {
    const order = slots.order ?? '';
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
