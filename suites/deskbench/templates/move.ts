/** Moving a booking of flexible fare to a flight that only the traveler knows: free seats, move; full, waiting list. */
import { type Chooser, call, decide, goodbye, hasWord, type Step, say, wordAfter } from '../script.js';
import { bookingRow, flightRow, makeFlight, theBooking, travelerBookings } from './bookings.js';
import type { Template } from './template.js';

export const move: Template = {
  name: 'move',
  domain: 'travel',
  branches: ['free', 'full', 'fixed'],
  wordings: {
    train: [
      'please move booking {booking} .',
      'i need a new flight for booking {booking} .',
      'i need to move {booking} to a new flight .',
      'move {booking} to my new flight please .',
      'i am traveler {traveler} . i need a new flight for the trip to {city} .',
      'booking {booking} must go on a new flight .',
      'my booking is {booking} . i need to move it .',
      'i want to move my booking {booking} to a new flight .',
      'i am traveler {traveler} . please move the trip to {city} .',
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
    const { start, slots } = travelerBookings(draw, { fare: branch === 'fixed' ? 'fixed' : 'flexible' });
    const target = draw.id('flight');
    const flight = makeFlight(draw, branch === 'fixed' ? {} : { seats: branch === 'free' ? 'free' : 'full' });
    return {
      start: { ...start, flights: { ...start.flights, [target]: flight } },
      slots,
      facts: { flight: target },
    };
  },
  writes({ start, slots, facts }) {
    const booking = slots.booking ?? '';
    const flight = facts.flight ?? '';
    if (bookingRow(start, booking).fare === 'fixed')
      return [{ tool: 'deny_request', args: { case: booking } }];
    return flightRow(start, flight).seats === 'free'
      ? [{ tool: 'move_booking', args: { booking, flight } }]
      : [{ tool: 'join_waitlist', args: { booking } }];
  },
  *script(slots, agent) {
    const booking: string = yield* theBooking(slots);
    let movable = true;
    if (!agent.slips('skip_read')) {
      const seen = yield call('get_booking', { booking });
      movable = decide(agent, hasWord(seen, 'flexible'), true, [false]);
    }
    const last: Step = movable ? yield* ask(booking, agent) : call('deny_request', { case: booking });
    if (!agent.slips('forget_write')) yield last;
    yield goodbye;
  },
};

/** Asks for the flight, reads it, and picks the call. Without asking there is no flight to move to: such an agent can only queue. */
function* ask(booking: string, agent: Chooser): Generator<Step, Step, string> {
  const queue = call('join_waitlist', { booking });
  if (agent.slips('no_question')) return queue;
  const flight = wordAfter(yield say('which flight ?'), 'flight');
  if (flight === undefined) return queue;
  const seen = yield call('get_flight', { flight });
  return decide(agent, hasWord(seen, 'free'), true, [false])
    ? call('move_booking', { booking, flight })
    : queue;
}
