/** The bank desk: cards, payments and accounts of clients; blocking, disputing, transferring. */
import { denyRequest, LIMIT, limitWords, requestApproval } from './shared.js';
import { record } from './tables.js';
import { DeskError, type DeskTool, findId, rowOf } from './tool.js';

export const bankTools: readonly DeskTool[] = [
  {
    name: 'find_card',
    description: "Find a client's card of a color; answers its id.",
    parameters: { client: 'client id, e.g. k52', color: 'color, one word' },
    writes: false,
    run(tables, args) {
      const id = findId(tables, 'cards', 'card', { client: args.client, color: args.color });
      return `card ${id} .`;
    },
  },
  {
    name: 'get_payment',
    description: `Read one payment: its card, whether it is settled or pending, whether it is under or over the limit of $${LIMIT}, and the amount.`,
    parameters: { payment: 'payment id, e.g. p33' },
    writes: false,
    run(tables, args) {
      const payment = rowOf(tables, 'payments', 'payment', args.payment);
      return `card ${payment.card} ${payment.status} ${limitWords(Number(payment.amount))} $${payment.amount} .`;
    },
  },
  {
    name: 'get_account',
    description: 'Read one account: whether it is open or frozen, and its balance.',
    parameters: { account: 'account id, e.g. a21' },
    writes: false,
    run(tables, args) {
      const account = rowOf(tables, 'accounts', 'account', args.account);
      return `account ${account.status} $${account.balance} .`;
    },
  },
  {
    name: 'block_card',
    description: 'Block a card that was lost, or that a fraud was made with.',
    parameters: { card: 'card id, e.g. g41' },
    writes: true,
    run(tables, args) {
      const card = rowOf(tables, 'cards', 'card', args.card);
      card.status = 'blocked';
      record(tables, 'blocks', args.card ?? '');
      return 'card blocked .';
    },
  },
  {
    name: 'order_card',
    description: 'Order a new card in place of a blocked one, when the client asks for a new one.',
    parameters: { card: 'id of the old card' },
    writes: true,
    run(tables, args) {
      rowOf(tables, 'cards', 'card', args.card);
      record(tables, 'new_cards', args.card ?? '');
      return 'card ordered .';
    },
  },
  {
    name: 'open_dispute',
    description:
      'Dispute a payment. Allowed when it is settled; unless it is a fraud it must be under the limit: over it use request_approval. For a pending payment that is no fraud use deny_request.',
    parameters: { payment: 'payment id' },
    writes: true,
    run(tables, args) {
      const payment = rowOf(tables, 'payments', 'payment', args.payment);
      record(tables, 'disputes', args.payment ?? '', { amount: payment.amount ?? 0 });
      return `disputed $${payment.amount} .`;
    },
  },
  {
    name: 'transfer_money',
    description:
      'Move money between accounts. Allowed when the source is open, to the account that the client names when asked; for a frozen one use request_approval.',
    parameters: {
      account: 'id of the source',
      target: 'id of the target',
      amount: 'amount with its sign, e.g. $40',
    },
    writes: true,
    run(tables, args) {
      const source = rowOf(tables, 'accounts', 'account', args.account);
      const target = rowOf(tables, 'accounts', 'account', args.target);
      const amount = Number(/^\$(\d{1,6})$/.exec(args.amount ?? '')?.[1] ?? Number.NaN);
      if (Number.isNaN(amount)) throw new DeskError('bad amount .');
      source.balance = Number(source.balance) - amount;
      target.balance = Number(target.balance) + amount;
      record(tables, 'transfers', `${args.account}-${args.target}`, { amount });
      return 'money transferred .';
    },
  },
  requestApproval,
  denyRequest,
];
