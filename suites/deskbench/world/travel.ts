/** The travel desk: bookings of travelers on flights; upgrades, moves, cancellations and vouchers. */
import { denyRequest } from './shared.js';
import { record } from './tables.js';
import { type DeskTool, findId, rowOf } from './tool.js';

export const travelTools: readonly DeskTool[] = [
  {
    name: 'find_booking',
    description: "Find a traveler's booking to a city; answers its id.",
    parameters: { traveler: 'traveler id, e.g. t14', city: 'city, one word' },
    writes: false,
    run(tables, args) {
      const id = findId(tables, 'bookings', 'booking', { traveler: args.traveler, city: args.city });
      return `booking ${id} .`;
    },
  },
  {
    name: 'get_booking',
    description: 'Read one booking: its flight, whether the fare is flexible or fixed, and the price.',
    parameters: { booking: 'booking id, e.g. b31' },
    writes: false,
    run(tables, args) {
      const booking = rowOf(tables, 'bookings', 'booking', args.booking);
      return `flight ${booking.flight} ${booking.fare} $${booking.price} .`;
    },
  },
  {
    name: 'get_flight',
    description:
      'Read one flight: whether seats are free or full, and whether it was punctual, delayed or cancelled.',
    parameters: { flight: 'flight id, e.g. f22' },
    writes: false,
    run(tables, args) {
      const flight = rowOf(tables, 'flights', 'flight', args.flight);
      return `seats ${flight.seats} ${flight.status} .`;
    },
  },
  {
    name: 'upgrade_seat',
    description:
      'Upgrade a booking. Allowed when the seats of its flight are free; when they are full use join_waitlist.',
    parameters: { booking: 'booking id' },
    writes: true,
    run(tables, args) {
      const booking = rowOf(tables, 'bookings', 'booking', args.booking);
      booking.seat = 'business';
      record(tables, 'upgrades', args.booking ?? '');
      return 'seat upgraded .';
    },
  },
  {
    name: 'join_waitlist',
    description: 'Put a booking on the waiting list, when the seats of the flight that is wanted are full.',
    parameters: { booking: 'booking id' },
    writes: true,
    run(tables, args) {
      rowOf(tables, 'bookings', 'booking', args.booking);
      record(tables, 'waitlist', args.booking ?? '');
      return 'waitlist joined .';
    },
  },
  {
    name: 'cancel_booking',
    description:
      'Cancel a booking and return its price. Allowed for a flexible fare, and when the flight was cancelled; for a fixed fare use issue_voucher.',
    parameters: { booking: 'booking id' },
    writes: true,
    run(tables, args) {
      const booking = rowOf(tables, 'bookings', 'booking', args.booking);
      booking.fare = 'cancelled';
      record(tables, 'cancellations', args.booking ?? '', { amount: booking.price ?? 0 });
      return `cancelled $${booking.price} .`;
    },
  },
  {
    name: 'issue_voucher',
    description:
      'Issue a voucher on a booking: for a delayed flight, or instead of cancelling a fixed fare. For a claim about a punctual flight use deny_request.',
    parameters: { booking: 'booking id' },
    writes: true,
    run(tables, args) {
      rowOf(tables, 'bookings', 'booking', args.booking);
      record(tables, 'vouchers', args.booking ?? '');
      return 'voucher issued .';
    },
  },
  {
    name: 'move_booking',
    description:
      'Move a booking to another flight, which the traveler names when asked. Allowed for a flexible fare when seats there are free; when they are full use join_waitlist, for a fixed fare deny_request.',
    parameters: { booking: 'booking id', flight: 'flight id' },
    writes: true,
    run(tables, args) {
      const booking = rowOf(tables, 'bookings', 'booking', args.booking);
      rowOf(tables, 'flights', 'flight', args.flight);
      booking.flight = args.flight ?? '';
      record(tables, 'moves', args.booking ?? '', { flight: booking.flight });
      return 'booking moved .';
    },
  },
  denyRequest,
];
