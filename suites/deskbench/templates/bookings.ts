/** Bookings and flights as start states of the travel desk, and how an agent finds a booking. */
import type { Draw } from '../draw.js';
import { call, type Slots, type Step, wordAfter } from '../script.js';
import { CITIES } from '../vocabulary.js';
import type { Row, Tables } from '../world/tables.js';

export interface TripWish {
  readonly seats?: 'free' | 'full';
  readonly status?: 'punctual' | 'delayed' | 'cancelled';
  readonly fare?: 'flexible' | 'fixed';
}

export function makeFlight(draw: Draw, wish: TripWish = {}): Row {
  return {
    seats: wish.seats ?? draw.pick(['free', 'full'] as const),
    status: wish.status ?? draw.pick(['punctual', 'delayed'] as const),
  };
}

function makeBooking(draw: Draw, traveler: string, city: string, flight: string, wish: TripWish = {}): Row {
  return {
    traveler,
    city,
    flight,
    fare: wish.fare ?? draw.pick(['flexible', 'fixed'] as const),
    price: draw.amount(),
    seat: 'economy',
  };
}

export interface TripScene {
  readonly start: Tables;
  /** `booking`, `traveler`, `city` and `flight` of interest, `second`: the traveler's other booking. */
  readonly slots: Slots & { readonly booking: string; readonly second: string; readonly flight: string };
  readonly row: Row;
}

/** Two bookings of one traveler to different cities on different flights, in drawn order. */
export function travelerBookings(draw: Draw, wish: TripWish): TripScene {
  const traveler = draw.id('traveler');
  const [city, otherCity] = draw.pickTwo(CITIES);
  const booking = draw.id('booking');
  const second = draw.id('booking');
  const flight = draw.id('flight');
  const otherFlight = draw.id('flight');
  const row = makeBooking(draw, traveler, city, flight, wish);
  const rows: [string, Row][] = [
    [booking, row],
    [second, makeBooking(draw, traveler, otherCity, otherFlight)],
  ];
  if (draw.uniform() < 0.5) rows.reverse();
  const start: Tables = {
    bookings: Object.fromEntries(rows),
    flights: { [flight]: makeFlight(draw, wish), [otherFlight]: makeFlight(draw) },
  };
  return { start, slots: { booking, second, traveler, city, flight }, row };
}

/** The booking that the request names, or the traveler's booking to the city that it names; empty when there is none. */
export function* theBooking(slots: Slots): Generator<Step, string, string> {
  if (slots.booking !== undefined) return slots.booking;
  const found = yield call('find_booking', { traveler: slots.traveler ?? '', city: slots.city ?? '' });
  return wordAfter(found, 'booking') ?? '';
}

export function bookingRow(start: Tables, id: string | undefined): Row {
  const row = id === undefined ? undefined : start.bookings?.[id];
  if (!row) throw new Error(`the scene has no booking ${id ?? '(none)'}`);
  return row;
}

export function flightRow(start: Tables, id: unknown): Row {
  const row = typeof id === 'string' ? start.flights?.[id] : undefined;
  if (!row) throw new Error(`the scene has no flight ${String(id)}`);
  return row;
}
