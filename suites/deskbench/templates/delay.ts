/** Claims about a flight: delayed, a voucher; cancelled, the booking's price back; punctual, denied. One booking, or two. */
import {
  amountIn,
  type Chooser,
  call,
  decide,
  goodbye,
  goodbyeWithAmount,
  hasWord,
  type Step,
  wordAfter,
} from '../script.js';
import type { Write } from '../world/domains.js';
import { bookingRow, flightRow, theBooking, travelerBookings } from './bookings.js';
import { type Template, tellSlot } from './template.js';

type DelayTool = 'issue_voucher' | 'cancel_booking' | 'deny_request';

const STATUS = { voucher: 'delayed', deny: 'punctual', cancel: 'cancelled' } as const;

/** Flight status of a branch; `cancel_told` is a cancelled flight too. */
function statusOf(branch: string) {
  return branch === 'voucher' || branch === 'deny' ? STATUS[branch] : STATUS.cancel;
}

function settle(tool: DelayTool, booking: string): Write {
  return { tool, args: tool === 'deny_request' ? { case: booking } : { booking } };
}

function rule(status: unknown): DelayTool {
  if (status === STATUS.voucher) return 'issue_voucher';
  return status === STATUS.cancel ? 'cancel_booking' : 'deny_request';
}

/** Reads the flight and picks the call; a claim wishes for a voucher. */
function* weigh(flight: string | undefined, agent: Chooser): Generator<Step, DelayTool, string> {
  if (flight === undefined || agent.slips('skip_read')) return 'issue_voucher';
  const seen = yield call('get_flight', { flight });
  const right = rule(Object.values(STATUS).find((status) => hasWord(seen, status)));
  return decide<DelayTool>(agent, right, 'issue_voucher', ['cancel_booking', 'deny_request']);
}

export const delay: Template = {
  name: 'delay',
  domain: 'travel',
  branches: ['voucher', 'deny', 'cancel_told', 'voucher', 'cancel'],
  wordings: {
    train: [
      'flight {flight} was late and my booking is {booking} .{tell}',
      'booking {booking} had a problem with flight {flight} .{tell}',
      'i claim for flight {flight} on booking {booking} .{tell}',
      'i claim for booking {booking} . flight {flight} was not good .{tell}',
      'my flight {flight} had a problem . my booking is {booking} .{tell}',
      'my booking is {booking} . flight {flight} was late .{tell}',
      'i am traveler {traveler} . i claim for the trip to {city} .{tell}',
      'the flight to {city} was late . i am traveler {traveler} .{tell}',
      'booking {booking} had a problem . my flight {flight} was late .{tell}',
      'i am traveler {traveler} . i had a problem with the trip to {city} .{tell}',
      'traveler {traveler} had a problem with the trip to {city} .{tell}',
    ],
    benchmark: [
      'my flight {flight} was late . i claim for booking {booking} .{tell}',
      'my booking is {booking} . my flight {flight} had a problem .{tell}',
      'i am traveler {traveler} . the trip to {city} had a problem .{tell}',
    ],
  },
  scene(draw, branch) {
    const { start, slots, row } = travelerBookings(draw, { status: statusOf(branch) });
    const told = branch === 'cancel_told';
    return {
      start,
      slots: { ...slots, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${row.price}` } : {}),
    };
  },
  writes: ({ start, slots }) => [settle(rule(flightRow(start, slots.flight).status), slots.booking ?? '')],
  *script(slots, agent) {
    const booking: string = yield* theBooking(slots);
    const flight = slots.flight ?? wordAfter(yield call('get_booking', { booking }), 'flight');
    const tool: DelayTool = yield* weigh(flight, agent);
    let amount: string | undefined;
    if (!agent.slips('forget_write')) {
      const write = settle(tool, booking);
      amount = amountIn(yield call(write.tool, write.args));
    }
    yield goodbyeWithAmount(agent, slots.tell !== '', amount);
  },
};

export const delayTwo: Template = {
  name: 'delay_two',
  domain: 'travel',
  branches: ['voucher', 'deny'],
  wordings: {
    train: [],
    benchmark: [
      'flight {flight} was late . i claim for booking {booking} and booking {second} .',
      'i claim for flight {flight} on booking {booking} and booking {second} .',
    ],
  },
  scene(draw, branch) {
    const { start, slots } = travelerBookings(draw, { status: statusOf(branch) });
    bookingRow(start, slots.second).flight = slots.flight;
    return { start, slots, facts: {} };
  },
  writes({ start, slots }) {
    const tool = rule(flightRow(start, slots.flight).status);
    return [settle(tool, slots.booking ?? ''), settle(tool, slots.second ?? '')];
  },
  *script(slots, agent) {
    const tool: DelayTool = yield* weigh(slots.flight, agent);
    for (const booking of [slots.booking ?? '', slots.second ?? '']) {
      const write = settle(tool, booking);
      if (!agent.slips('forget_write')) yield call(write.tool, write.args);
    }
    yield goodbye;
  },
};
