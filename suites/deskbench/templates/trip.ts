/** Giving up a trip to a city: a flexible fare is cancelled with its price returned, a fixed one becomes a voucher. */
import { amountIn, call, decide, goodbyeWithAmount, hasWord, rowFor } from '../script.js';
import { bookingTo, travelerBookings } from './bookings.js';
import { type Template, tellSlot } from './template.js';

export const trip: Template = {
  name: 'trip',
  domain: 'travel',
  branches: ['cancel', 'voucher', 'cancel_told', 'voucher'],
  wordings: {
    train: [
      'traveler {traveler} wants to cancel the trip to {city} .{tell}',
      'please cancel my trip to {city} . i am traveler {traveler} .{tell}',
      'i can not travel to {city} . traveler {traveler} .{tell}',
      'hello , traveler {traveler} . stop the trip to {city} please .{tell}',
    ],
    benchmark: [
      'hello , i am traveler {traveler} . please stop my trip to {city} .{tell}',
      'i can not travel . please cancel {city} for traveler {traveler} .{tell}',
    ],
  },
  scene(draw, branch) {
    const { traveler, booking, city, start } = travelerBookings(draw, {
      fare: branch === 'voucher' ? 'fixed' : 'flexible',
    });
    const told = branch === 'cancel_told';
    return {
      start,
      slots: { traveler, city, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${start.bookings?.[booking]?.price}` } : {}),
    };
  },
  writes({ start, slots }) {
    const [booking, row] = bookingTo(start, slots.traveler, slots.city);
    return [{ tool: row.fare === 'flexible' ? 'cancel_booking' : 'issue_voucher', args: { booking } }];
  },
  *script(slots, agent) {
    const list = yield call('find_bookings', { traveler: slots.traveler ?? '' });
    const booking = rowFor(agent, list, slots.city ?? '') ?? '';
    let cancels = true;
    let seen = '';
    if (!agent.slips('skip_read')) {
      seen = yield call('get_booking', { booking });
      cancels = decide(agent, hasWord(seen, 'flexible'), true, [false]);
    }
    if (!agent.slips('forget_write')) {
      const answer = yield call(cancels ? 'cancel_booking' : 'issue_voucher', { booking });
      seen = amountIn(answer) ? answer : seen;
    }
    yield goodbyeWithAmount(agent, slots.tell !== '', amountIn(seen));
  },
};
