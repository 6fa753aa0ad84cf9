/** Upgrades: free seats on the booking's flight, upgrade; full, waiting list. By booking, or found by city. */
import { call, decide, goodbye, hasWord, wordAfter } from '../script.js';
import { bookingRow, flightRow, theBooking, travelerBookings } from './bookings.js';
import type { Template } from './template.js';

export const upgrade: Template = {
  name: 'upgrade',
  domain: 'travel',
  branches: ['free', 'full'],
  wordings: {
    train: [
      'please upgrade booking {booking} .',
      'i want a better seat for booking {booking} .',
      'can you upgrade {booking} ?',
      'a better seat please . my booking is {booking} .',
      'my booking is {booking} . can i get a better seat ?',
      'i want to upgrade booking {booking} .',
    ],
    benchmark: [
      'my booking is {booking} . please upgrade it .',
      'can i get a better seat for booking {booking} ?',
    ],
  },
  scene(draw, branch) {
    const { start, slots } = travelerBookings(draw, { seats: branch === 'free' ? 'free' : 'full' });
    return { start, slots, facts: {} };
  },
  writes({ start, slots }) {
    const booking = slots.booking ?? '';
    const free = flightRow(start, bookingRow(start, booking).flight).seats === 'free';
    return [{ tool: free ? 'upgrade_seat' : 'join_waitlist', args: { booking } }];
  },
  *script(slots, agent) {
    const booking: string = yield* theBooking(slots, agent);
    let free = true;
    const flight = wordAfter(yield call('get_booking', { booking }), 'flight');
    if (flight !== undefined && !agent.slips('skip_read')) {
      const seen = yield call('get_flight', { flight });
      free = decide(agent, hasWord(seen, 'free'), true, [false]);
    }
    if (!agent.slips('forget_write')) yield call(free ? 'upgrade_seat' : 'join_waitlist', { booking });
    yield goodbye;
  },
};

export const upgradeLookup: Template = {
  ...upgrade,
  name: 'upgrade_lookup',
  wordings: {
    train: [],
    benchmark: [
      'traveler {traveler} wants a better seat for the trip to {city} .',
      'please upgrade the trip to {city} for traveler {traveler} .',
    ],
  },
};
