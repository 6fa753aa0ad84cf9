/** Upgrades: free seats on the booking's flight, upgrade; full, waiting list. By booking, one or two, or found by city. */
import {
  type Chooser,
  call,
  decide,
  goodbye,
  hasWord,
  type Script,
  type Slots,
  wordAfter,
} from '../script.js';
import { bookingRow, flightRow, theBooking, travelerBookings } from './bookings.js';
import type { Template } from './template.js';

/** The other booking that the request names with ` and booking b40`. */
function alsoNamed(slots: Slots): string[] {
  const second = /booking (\w+)/.exec(slots.also ?? '')?.[1];
  return second === undefined ? [] : [second];
}

/** Reads one booking and its flight, decides, acts. */
function* upgradeOne(booking: string, agent: Chooser): Script {
  let free = true;
  const flight = wordAfter(yield call('get_booking', { booking }), 'flight');
  if (flight !== undefined && !agent.slips('skip_read')) {
    const seen = yield call('get_flight', { flight });
    free = decide(agent, hasWord(seen, 'free'), true, [false]);
  }
  if (!agent.slips('forget_write')) yield call(free ? 'upgrade_seat' : 'join_waitlist', { booking });
}

export const upgrade: Template = {
  name: 'upgrade',
  domain: 'travel',
  branches: ['free', 'full', 'both'],
  wordings: {
    train: [
      'please upgrade booking {booking}{also} .',
      'i want a better seat for booking {booking}{also} .',
      'can you upgrade {booking}{also} ?',
      'a better seat please . my booking is {booking}{also} .',
      'my booking is {booking}{also} . can i get a better seat ?',
      'i want to upgrade booking {booking}{also} .',
      'please upgrade it . my booking is {booking}{also} .',
      'i want a better seat . it is booking {booking}{also} .',
      'can you get a better seat for {booking}{also} ?',
    ],
    benchmark: [
      'my booking is {booking}{also} . please upgrade it .',
      'can i get a better seat for booking {booking}{also} ?',
    ],
  },
  scene(draw, branch) {
    const { start, slots } = travelerBookings(
      draw,
      branch === 'both' ? {} : { seats: branch === 'free' ? 'free' : 'full' },
    );
    return {
      start,
      slots: { ...slots, also: branch === 'both' ? ` and booking ${slots.second}` : '' },
      facts: {},
    };
  },
  writes: ({ start, slots }) =>
    [slots.booking ?? '', ...alsoNamed(slots)].map((booking) => {
      const free = flightRow(start, bookingRow(start, booking).flight).seats === 'free';
      return { tool: free ? 'upgrade_seat' : 'join_waitlist', args: { booking } };
    }),
  *script(slots, agent) {
    const first: string = yield* theBooking(slots);
    for (const booking of [first, ...alsoNamed(slots)]) yield* upgradeOne(booking, agent);
    yield goodbye;
  },
};

export const upgradeLookup: Template = {
  ...upgrade,
  name: 'upgrade_lookup',
  branches: ['free', 'full'],
  wordings: {
    train: [],
    benchmark: [
      'traveler {traveler} wants a better seat for the trip to {city} .',
      'please upgrade the trip to {city} for traveler {traveler} .',
    ],
  },
};
