/** Upgrades: free seats on the booking's flight, upgrade; full, waiting list. By booking, or found by city. */
import { type Chooser, call, decide, goodbye, hasWord, rowFor, type Script, wordAfter } from '../script.js';
import type { Write } from '../world/domains.js';
import type { Tables } from '../world/tables.js';
import { bookingRow, bookingTo, flightRow, travelerBookings } from './bookings.js';
import type { Template } from './template.js';

function wanted(start: Tables, booking: string): Write {
  const free = flightRow(start, bookingRow(start, booking).flight).seats === 'free';
  return { tool: free ? 'upgrade_seat' : 'join_waitlist', args: { booking } };
}

/** Reads booking and flight, decides, acts. */
function* upgradeScript(booking: string, agent: Chooser): Script {
  let free = true;
  const flight = wordAfter(yield call('get_booking', { booking }), 'flight');
  if (flight !== undefined && !agent.slips('skip_read')) {
    const seen = yield call('get_flight', { flight });
    free = decide(agent, hasWord(seen, 'free'), true, [false]);
  }
  if (!agent.slips('forget_write')) yield call(free ? 'upgrade_seat' : 'join_waitlist', { booking });
  yield goodbye;
}

export const upgrade: Template = {
  name: 'upgrade',
  domain: 'travel',
  branches: ['free', 'full'],
  wordings: {
    train: [
      'please upgrade booking {booking} .',
      'i want a better seat for booking {booking} .',
      'hello , can you upgrade {booking} ?',
      'a better seat please . my booking is {booking} .',
    ],
    benchmark: [
      'hello , i want to upgrade my booking {booking} .',
      'can i get a better seat for {booking} please ?',
    ],
  },
  scene(draw, branch) {
    const { booking, start } = travelerBookings(draw, { seats: branch === 'free' ? 'free' : 'full' });
    return { start, slots: { booking }, facts: {} };
  },
  writes: ({ start, slots }) => [wanted(start, slots.booking ?? '')],
  script: (slots, agent) => upgradeScript(slots.booking ?? '', agent),
};

export const upgradeLookup: Template = {
  name: 'upgrade_lookup',
  domain: 'travel',
  branches: ['free', 'full'],
  wordings: {
    train: [],
    benchmark: [
      'traveler {traveler} wants a better seat for the trip to {city} .',
      'please upgrade the trip to {city} for traveler {traveler} .',
    ],
  },
  scene(draw, branch) {
    const { traveler, city, start } = travelerBookings(draw, { seats: branch === 'free' ? 'free' : 'full' });
    return { start, slots: { traveler, city }, facts: {} };
  },
  writes: ({ start, slots }) => [wanted(start, bookingTo(start, slots.traveler, slots.city)[0])],
  *script(slots, agent) {
    const list = yield call('find_bookings', { traveler: slots.traveler ?? '' });
    yield* upgradeScript(rowFor(agent, list, slots.city ?? '') ?? '', agent);
  },
};
