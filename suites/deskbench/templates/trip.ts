/** Giving up a trip, by city or by booking: a flexible fare is cancelled with its price returned, a fixed one becomes a voucher. */
import { amountIn, call, decide, goodbyeWithAmount, hasWord } from '../script.js';
import { bookingRow, theBooking, travelerBookings } from './bookings.js';
import { type Template, tellSlot } from './template.js';

export const trip: Template = {
  name: 'trip',
  domain: 'travel',
  branches: ['cancel', 'voucher', 'cancel_told', 'voucher'],
  wordings: {
    train: [
      'traveler {traveler} wants to cancel the trip to {city} .{tell}',
      'please cancel my trip to {city} . i am traveler {traveler} .{tell}',
      'i can not travel to {city} . i am traveler {traveler} .{tell}',
      'please cancel booking {booking} .{tell}',
      'i am traveler {traveler} . please stop the trip to {city} .{tell}',
      'i can not travel . stop booking {booking} please .{tell}',
      'please cancel the trip to {city} for traveler {traveler} .{tell}',
      'i want to cancel my booking {booking} .{tell}',
      'my booking is {booking} . i can not travel .{tell}',
      'traveler {traveler} can not travel . please cancel the trip to {city} .{tell}',
    ],
    benchmark: [
      'i am traveler {traveler} . please cancel the trip to {city} .{tell}',
      'please stop my trip to {city} . i am traveler {traveler} .{tell}',
      'i can not travel . please cancel my booking {booking} .{tell}',
    ],
  },
  scene(draw, branch) {
    const fare = branch === 'voucher' ? 'fixed' : 'flexible';
    const { start, slots, row } = travelerBookings(draw, { fare });
    const told = branch === 'cancel_told';
    return {
      start,
      slots: { ...slots, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${row.price}` } : {}),
    };
  },
  writes({ start, slots }) {
    const flexible = bookingRow(start, slots.booking).fare === 'flexible';
    return [{ tool: flexible ? 'cancel_booking' : 'issue_voucher', args: { booking: slots.booking ?? '' } }];
  },
  *script(slots, agent) {
    const booking: string = yield* theBooking(slots);
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
