/** Fraud: block the card that the payment was made with; dispute the payment once it is settled; a new card on request. */
import { amountIn, call, decide, goodbyeWithAmount, hasWord, wordAfter } from '../script.js';
import type { Write } from '../world/domains.js';
import { cardPayment, NEW_CARD_SENTENCE, paymentRow } from './accounts.js';
import { type Template, tellSlot } from './template.js';

export const fraud: Template = {
  name: 'fraud',
  domain: 'bank',
  branches: ['settled', 'pending', 'settled_new'],
  wordings: {
    train: [
      'payment {payment} is a fraud .{renew}',
      'please help . payment {payment} was a fraud .{renew}',
      'someone used my card for payment {payment} .{renew}',
      'someone else made payment {payment} .{renew}',
      'it was someone else . payment {payment} is a fraud .{renew}',
      'someone used my card . it was payment {payment} .{renew}',
    ],
    benchmark: [
      'someone made payment {payment} . it is a fraud .{renew}',
      'please help . someone else used my card for payment {payment} .{renew}',
    ],
  },
  scene(draw, branch) {
    const { payment, start } = cardPayment(draw, { status: branch === 'pending' ? 'pending' : 'settled' });
    const renew = branch === 'settled_new' ? NEW_CARD_SENTENCE : '';
    return { start, slots: { payment, renew, ...tellSlot(false) }, facts: {} };
  },
  writes({ start, slots }) {
    const payment = slots.payment ?? '';
    const row = paymentRow(start, payment);
    const card = String(row.card);
    const writes: Write[] = [{ tool: 'block_card', args: { card } }];
    if (row.status === 'settled') writes.push({ tool: 'open_dispute', args: { payment } });
    if (slots.renew !== '') writes.push({ tool: 'order_card', args: { card } });
    return writes;
  },
  *script(slots, agent) {
    const payment = slots.payment ?? '';
    const seen = yield call('get_payment', { payment });
    const card = wordAfter(seen, 'card') ?? '';
    if (!agent.slips('forget_write')) yield call('block_card', { card });
    if (decide(agent, hasWord(seen, 'settled'), true, [false])) yield call('open_dispute', { payment });
    if ((slots.renew ?? '') !== '' && !agent.slips('forget_write')) yield call('order_card', { card });
    yield goodbyeWithAmount(agent, (slots.tell ?? '') !== '', amountIn(seen));
  },
};

export const fraudTold: Template = {
  ...fraud,
  name: 'fraud_told',
  branches: ['settled'],
  wordings: {
    train: [],
    benchmark: ['payment {payment} is a fraud .{tell}', 'someone else made payment {payment} .{tell}'],
  },
  scene(draw) {
    const { payment, start, row } = cardPayment(draw, { status: 'settled' });
    return { start, slots: { payment, renew: '', ...tellSlot(true) }, facts: {}, tell: `$${row.amount}` };
  },
};
