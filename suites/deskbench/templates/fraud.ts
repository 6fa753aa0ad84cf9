/** Fraud: block the card that the payment was made with; dispute the payment once it is settled; a new card on request. */
import { type Chooser, call, decide, goodbye, hasWord, type Slots, wordAfter } from '../script.js';
import type { Write } from '../world/domains.js';
import { cardPayment, paymentRow } from './accounts.js';
import type { Scene, Template } from './template.js';

function wanted({ start, slots }: Scene): { card: string; writes: Write[] } {
  const row = paymentRow(start, slots.payment);
  const card = String(row.card);
  const writes: Write[] = [{ tool: 'block_card', args: { card } }];
  if (row.status === 'settled') writes.push({ tool: 'open_dispute', args: { payment: slots.payment ?? '' } });
  return { card, writes };
}

/** Reads the payment, blocks its card, disputes it where that is due; returns the card. */
function* handle(
  slots: Slots,
  agent: Chooser,
): Generator<ReturnType<typeof call>, string | undefined, string> {
  const payment = slots.payment ?? '';
  const seen = yield call('get_payment', { payment });
  const card = wordAfter(seen, 'card');
  if (card !== undefined && !agent.slips('forget_write')) yield call('block_card', { card });
  const disputes = decide(agent, hasWord(seen, 'settled'), true, [false]);
  if (disputes && !agent.slips('forget_write')) yield call('open_dispute', { payment });
  return card;
}

export const fraud: Template = {
  name: 'fraud',
  domain: 'bank',
  branches: ['settled', 'pending', 'settled'],
  wordings: {
    train: [
      'payment {payment} is a fraud .',
      'please help , payment {payment} was a fraud .',
      'hello , someone used my card for payment {payment} .',
      'someone else made payment {payment} .',
    ],
    benchmark: [
      'hello , someone made payment {payment} . it is a fraud .',
      'please help , someone else used my card . it was {payment} .',
    ],
  },
  scene(draw, branch) {
    const { payment, start } = cardPayment(draw, { status: branch === 'settled' ? 'settled' : 'pending' });
    return { start, slots: { payment }, facts: {} };
  },
  writes: (scene) => wanted(scene).writes,
  *script(slots, agent) {
    yield* handle(slots, agent);
    yield goodbye;
  },
};

export const fraudNew: Template = {
  name: 'fraud_new',
  domain: 'bank',
  branches: ['settled', 'pending'],
  wordings: {
    train: [],
    benchmark: [
      'payment {payment} is a fraud . i need a new card .',
      'hello , someone else made payment {payment} . please order a new card .',
    ],
  },
  scene(draw, branch) {
    const { payment, start } = cardPayment(draw, { status: branch === 'settled' ? 'settled' : 'pending' });
    return { start, slots: { payment }, facts: {} };
  },
  writes(scene) {
    const { card, writes } = wanted(scene);
    return [...writes, { tool: 'order_card', args: { card } }];
  },
  *script(slots, agent) {
    const card: string | undefined = yield* handle(slots, agent);
    if (card !== undefined && !agent.slips('forget_write')) yield call('order_card', { card });
    yield goodbye;
  },
};
