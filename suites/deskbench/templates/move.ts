/** Moving a booking to a flight that only the traveler knows: free seats, move; full, waiting list. */
import { call, decide, goodbye, hasWord, say, wordAfter } from '../script.js';
import { flightRow, makeFlight, theBooking, travelerBookings } from './bookings.js';
import type { Template } from './template.js';

export const move: Template = {
  name: 'move',
  domain: 'travel',
  branches: ['free', 'full'],
  wordings: {
    train: [
      'please move booking {booking} .',
      'i need a new flight for booking {booking} .',
      'move {booking} to my new flight please .',
      'i am traveler {traveler} . i need a new flight for the trip to {city} .',
      'booking {booking} must go on a new flight .',
      'please move the trip to {city} for traveler {traveler} .',
      'traveler {traveler} wants to move the trip to {city} .',
    ],
    benchmark: [
      'i need to move my booking {booking} .',
      'please move {booking} . i need a new flight .',
      'please move my trip to {city} . i am traveler {traveler} .',
    ],
  },
  scene(draw, branch) {
    const { start, slots } = travelerBookings(draw, {});
    const target = draw.id('flight');
    const flight = makeFlight(draw, { seats: branch === 'free' ? 'free' : 'full' });
    return {
      start: { ...start, flights: { ...start.flights, [target]: flight } },
      slots,
      facts: { flight: target },
    };
  },
  writes({ start, slots, facts }) {
    const booking = slots.booking ?? '';
    const flight = facts.flight ?? '';
    return flightRow(start, flight).seats === 'free'
      ? [{ tool: 'move_booking', args: { booking, flight } }]
      : [{ tool: 'join_waitlist', args: { booking } }];
  },
  *script(slots, agent) {
    const booking: string = yield* theBooking(slots, agent);
    // Without asking there is no flight to move to: such an agent can only queue.
    const flight = agent.slips('no_question') ? undefined : wordAfter(yield say('which flight ?'), 'flight');
    let moves = flight !== undefined;
    if (flight !== undefined && !agent.slips('skip_read')) {
      const seen = yield call('get_flight', { flight });
      moves = decide(agent, hasWord(seen, 'free'), true, [false]);
    }
    if (!agent.slips('forget_write')) {
      yield flight !== undefined && moves
        ? call('move_booking', { booking, flight })
        : call('join_waitlist', { booking });
    }
    yield goodbye;
  },
};
