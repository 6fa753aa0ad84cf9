/** Claims about a flight: delayed, a voucher; cancelled, the booking's price back; punctual, denied. One booking, or two. */
import { amountIn, type Chooser, call, decide, goodbye, goodbyeWithAmount, hasWord } from '../script.js';
import type { Write } from '../world/domains.js';
import { bookingRow, flightRow, travelerBookings } from './bookings.js';
import { type Template, tellSlot } from './template.js';

const TOOLS = ['issue_voucher', 'cancel_booking', 'deny_request'] as const;
type DelayTool = (typeof TOOLS)[number];

function settle(tool: DelayTool, booking: string): Write {
  return { tool, args: tool === 'deny_request' ? { case: booking } : { booking } };
}

function rule(status: unknown): DelayTool {
  if (status === 'delayed') return 'issue_voucher';
  return status === 'cancelled' ? 'cancel_booking' : 'deny_request';
}

/** Reads the flight and picks the call; a claim wishes for a voucher. */
function* judge(flight: string, agent: Chooser): Generator<ReturnType<typeof call>, DelayTool, string> {
  if (agent.slips('skip_read')) return 'issue_voucher';
  const seen = yield call('get_flight', { flight });
  const right = rule(['delayed', 'cancelled'].find((status) => hasWord(seen, status)));
  return decide<DelayTool>(agent, right, 'issue_voucher', ['cancel_booking', 'deny_request']);
}

const statusOf = (branch: string) =>
  branch === 'voucher' ? 'delayed' : branch === 'deny' ? 'punctual' : 'cancelled';

export const delay: Template = {
  name: 'delay',
  domain: 'travel',
  branches: ['voucher', 'deny', 'cancel_told', 'voucher', 'cancel'],
  wordings: {
    train: [
      'flight {flight} was late and my booking is {booking} .{tell}',
      'booking {booking} had a problem with flight {flight} .{tell}',
      'hello , i claim for flight {flight} on booking {booking} .{tell}',
      'i claim for booking {booking} . flight {flight} was not good .{tell}',
    ],
    benchmark: [
      'hello , my flight {flight} was late . i claim for booking {booking} .{tell}',
      'booking {booking} . my flight {flight} had a problem .{tell}',
    ],
  },
  scene(draw, branch) {
    const { booking, flight, start } = travelerBookings(draw, { status: statusOf(branch) });
    const told = branch === 'cancel_told';
    return {
      start,
      slots: { booking, flight, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${bookingRow(start, booking).price}` } : {}),
    };
  },
  writes: ({ start, slots }) => [settle(rule(flightRow(start, slots.flight).status), slots.booking ?? '')],
  *script(slots, agent) {
    const tool: DelayTool = yield* judge(slots.flight ?? '', agent);
    let amount: string | undefined;
    if (!agent.slips('forget_write')) {
      const write = settle(tool, slots.booking ?? '');
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
      'flight {flight} was late . my booking is {booking} and {second} .',
      'hello , i claim for flight {flight} on booking {booking} and booking {second} .',
    ],
  },
  scene(draw, branch) {
    const { booking, otherBooking, flight, start } = travelerBookings(draw, { status: statusOf(branch) });
    bookingRow(start, otherBooking).flight = flight;
    return { start, slots: { flight, booking, second: otherBooking }, facts: {} };
  },
  writes({ start, slots }) {
    const tool = rule(flightRow(start, slots.flight).status);
    return [settle(tool, slots.booking ?? ''), settle(tool, slots.second ?? '')];
  },
  *script(slots, agent) {
    const tool: DelayTool = yield* judge(slots.flight ?? '', agent);
    const first = settle(tool, slots.booking ?? '');
    yield call(first.tool, first.args);
    if (!agent.slips('forget_write')) {
      const second = settle(tool, slots.second ?? '');
      yield call(second.tool, second.args);
    }
    yield goodbye;
  },
};
