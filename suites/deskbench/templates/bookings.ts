/** Bookings and flights as start states of the travel desk. */
import type { Draw } from '../draw.js';
import { CITIES } from '../vocabulary.js';
import type { Row, Tables } from '../world/tables.js';

export interface FlightWish {
  readonly seats?: 'free' | 'full';
  readonly status?: 'punctual' | 'delayed' | 'cancelled';
}

export function makeFlight(draw: Draw, wish: FlightWish = {}): Row {
  return {
    seats: wish.seats ?? draw.pick(['free', 'full'] as const),
    status: wish.status ?? draw.pick(['punctual', 'delayed'] as const),
  };
}

export function makeBooking(
  draw: Draw,
  traveler: string,
  city: string,
  flight: string,
  fare?: 'flexible' | 'fixed',
): Row {
  return {
    traveler,
    city,
    flight,
    fare: fare ?? draw.pick(['flexible', 'fixed'] as const),
    price: draw.amount(),
    seat: 'economy',
  };
}

/** Two bookings of one traveler to different cities on different flights, in drawn order; the first named is of interest. */
export function travelerBookings(
  draw: Draw,
  wish: FlightWish & { readonly fare?: 'flexible' | 'fixed' },
): { traveler: string; booking: string; city: string; flight: string; otherBooking: string; start: Tables } {
  const traveler = draw.id('traveler');
  const [city, otherCity] = draw.pickTwo(CITIES);
  const booking = draw.id('booking');
  const otherBooking = draw.id('booking');
  const flight = draw.id('flight');
  const otherFlight = draw.id('flight');
  const rows: [string, Row][] = [
    [booking, makeBooking(draw, traveler, city, flight, wish.fare)],
    [otherBooking, makeBooking(draw, traveler, otherCity, otherFlight)],
  ];
  if (draw.uniform() < 0.5) rows.reverse();
  const start: Tables = {
    bookings: Object.fromEntries(rows),
    flights: { [flight]: makeFlight(draw, wish), [otherFlight]: makeFlight(draw) },
  };
  return { traveler, booking, city, flight, otherBooking, start };
}

export function bookingRow(start: Tables, id: string | undefined): Row {
  const row = id === undefined ? undefined : start.bookings?.[id];
  if (!row) throw new Error(`the scene has no booking ${id ?? '(none)'}`);
  return row;
}

/** The traveler's booking to a city, with its id. */
export function bookingTo(
  start: Tables,
  traveler: string | undefined,
  city: string | undefined,
): [string, Row] {
  const found = Object.entries(start.bookings ?? {}).find(
    ([, row]) => row.traveler === traveler && row.city === city,
  );
  if (!found) throw new Error('the scene lacks the trip that it asks about');
  return found;
}

export function flightRow(start: Tables, id: unknown): Row {
  const row = typeof id === 'string' ? start.flights?.[id] : undefined;
  if (!row) throw new Error(`the scene has no flight ${String(id)}`);
  return row;
}
