/** A payment that the client does not know: settled and under the limit, dispute; over it, approval; pending, deny. One, or two. */
import {
  amountIn,
  type Chooser,
  call,
  decide,
  goodbye,
  goodbyeWithAmount,
  hasWord,
  type Step,
} from '../script.js';
import type { Write } from '../world/domains.js';
import { LIMIT } from '../world/shared.js';
import type { Row } from '../world/tables.js';
import { cardPayment, type PaymentWish, paymentRow } from './accounts.js';
import { type Template, tellSlot } from './template.js';

const WISHES: Readonly<Record<string, PaymentWish>> = {
  dispute: { status: 'settled', side: 'under' },
  approve: { status: 'settled', side: 'over' },
  dispute_told: { status: 'settled', side: 'under' },
  deny: { status: 'pending' },
};

type DisputeTool = 'open_dispute' | 'request_approval' | 'deny_request';

function settle(tool: DisputeTool, payment: string): Write {
  return { tool, args: tool === 'open_dispute' ? { payment } : { case: payment } };
}

function rule(payment: Row): DisputeTool {
  if (payment.status === 'pending') return 'deny_request';
  return Number(payment.amount) > LIMIT ? 'request_approval' : 'open_dispute';
}

/** Reads one payment, decides and acts; returns the last text that told an amount. */
function* disputeOne(payment: string, agent: Chooser): Generator<Step, string, string> {
  let tool: DisputeTool = 'open_dispute';
  let seen = '';
  if (!agent.slips('skip_read')) {
    seen = yield call('get_payment', { payment });
    const right = hasWord(seen, 'pending')
      ? 'deny_request'
      : hasWord(seen, 'over')
        ? 'request_approval'
        : tool;
    tool = decide<DisputeTool>(agent, right, tool, ['request_approval', 'deny_request']);
  }
  if (agent.slips('forget_write')) return seen;
  const write = settle(tool, payment);
  const answer = yield call(write.tool, write.args);
  return amountIn(answer) ? answer : seen;
}

export const dispute: Template = {
  name: 'dispute',
  domain: 'bank',
  branches: Object.keys(WISHES),
  wordings: {
    train: [
      'i do not know payment {payment} .{tell}',
      'please dispute payment {payment} .{tell}',
      'payment {payment} is wrong .{tell}',
      'i want to dispute {payment} .{tell}',
      'payment {payment} is not good . please dispute it .{tell}',
      'something is wrong . it is payment {payment} .{tell}',
    ],
    benchmark: [
      'i want to dispute payment {payment} . it is wrong .{tell}',
      'payment {payment} is not good . i do not know it .{tell}',
    ],
  },
  scene(draw, branch) {
    const { payment, start, row } = cardPayment(draw, WISHES[branch] ?? { status: 'settled' });
    const told = branch === 'dispute_told';
    return {
      start,
      slots: { payment, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${row.amount}` } : {}),
    };
  },
  writes: ({ start, slots }) => [settle(rule(paymentRow(start, slots.payment)), slots.payment ?? '')],
  *script(slots, agent) {
    const seen: string = yield* disputeOne(slots.payment ?? '', agent);
    yield goodbyeWithAmount(agent, slots.tell !== '', amountIn(seen));
  },
};

export const disputeTwo: Template = {
  name: 'dispute_two',
  domain: 'bank',
  branches: ['dispute', 'deny'],
  wordings: {
    train: [],
    benchmark: [
      'i do not know payment {payment} and payment {second} .',
      'please dispute payment {payment} and payment {second} .',
    ],
  },
  scene(draw, branch) {
    const { payment, second, start } = cardPayment(draw, WISHES[branch] ?? { status: 'settled' });
    return { start, slots: { payment, second }, facts: {} };
  },
  writes: ({ start, slots }) =>
    [slots.payment, slots.second].map((id) => settle(rule(paymentRow(start, id)), id ?? '')),
  *script(slots, agent) {
    yield* disputeOne(slots.payment ?? '', agent);
    yield* disputeOne(slots.second ?? '', agent);
    yield goodbye;
  },
};
