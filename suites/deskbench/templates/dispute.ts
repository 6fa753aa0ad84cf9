/** A payment that the client does not know: settled and under the limit, dispute; over it, approval; pending, deny. */
import { amountIn, call, decide, goodbyeWithAmount, hasWord } from '../script.js';
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

export const dispute: Template = {
  name: 'dispute',
  domain: 'bank',
  branches: Object.keys(WISHES),
  wordings: {
    train: [
      'i do not know payment {payment} .{tell}',
      'please dispute payment {payment} .{tell}',
      'hello , payment {payment} is wrong .{tell}',
      'i want to dispute {payment} .{tell}',
    ],
    benchmark: [
      'hello , i want to dispute payment {payment} . it is wrong .{tell}',
      'payment {payment} is not good . i do not know it .{tell}',
    ],
  },
  scene(draw, branch) {
    const { payment, start } = cardPayment(draw, WISHES[branch] ?? { status: 'settled' });
    const told = branch === 'dispute_told';
    return {
      start,
      slots: { payment, ...tellSlot(told) },
      facts: {},
      ...(told ? { tell: `$${paymentRow(start, payment).amount}` } : {}),
    };
  },
  writes: ({ start, slots }) => [settle(rule(paymentRow(start, slots.payment)), slots.payment ?? '')],
  *script(slots, agent) {
    const payment = slots.payment ?? '';
    let tool: DisputeTool = 'open_dispute';
    let seen = '';
    if (!agent.slips('skip_read')) {
      seen = yield call('get_payment', { payment });
      const right = hasWord(seen, 'pending')
        ? 'deny_request'
        : hasWord(seen, 'over')
          ? 'request_approval'
          : 'open_dispute';
      tool = decide<DisputeTool>(agent, right, 'open_dispute', ['request_approval', 'deny_request']);
    }
    if (!agent.slips('forget_write')) {
      const write = settle(tool, payment);
      const answer = yield call(write.tool, write.args);
      seen = amountIn(answer) ? answer : seen;
    }
    yield goodbyeWithAmount(agent, slots.tell !== '', amountIn(seen));
  },
};
