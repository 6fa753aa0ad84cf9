/** Transfers: from an open account to one that only the client knows; a frozen account needs approval. */
import { call, decide, goodbye, hasWord, say, wordAfter } from '../script.js';
import type { Template } from './template.js';

export const transfer: Template = {
  name: 'transfer',
  domain: 'bank',
  branches: ['open', 'frozen', 'open'],
  wordings: {
    train: [
      'please transfer {amount} from account {account} .',
      'i want to send {amount} from account {account} .',
      'move {amount} out of {account} please .',
      'account {account} must send {amount} .',
      'my account is {account} . i want to transfer {amount} .',
      'please send {amount} . it is in account {account} .',
      'please move {amount} from account {account} .',
      'i want to move {amount} out of account {account} .',
      'my account is {account} . please transfer {amount} .',
    ],
    benchmark: [
      'please move {amount} out of account {account} .',
      'my account is {account} . please send {amount} .',
    ],
  },
  scene(draw, branch) {
    const account = draw.id('account');
    const target = draw.id('account');
    const amount = draw.amount();
    const accounts = {
      [account]: { status: branch === 'open' ? 'open' : 'frozen', balance: 100 + draw.amount() },
      [target]: { status: 'open', balance: draw.amount() },
      [draw.id('account')]: { status: 'open', balance: draw.amount() },
    };
    return { start: { accounts }, slots: { account, amount: `$${amount}` }, facts: { account: target } };
  },
  writes({ start, slots, facts }) {
    const account = slots.account ?? '';
    return start.accounts?.[account]?.status === 'open'
      ? [
          {
            tool: 'transfer_money',
            args: { account, target: facts.account ?? '', amount: slots.amount ?? '' },
          },
        ]
      : [{ tool: 'request_approval', args: { case: account } }];
  },
  *script(slots, agent) {
    const account = slots.account ?? '';
    let transfers = true;
    if (!agent.slips('skip_read')) {
      const seen = yield call('get_account', { account });
      transfers = decide(agent, hasWord(seen, 'open'), true, [false]);
    }
    if (!transfers) {
      if (!agent.slips('forget_write')) yield call('request_approval', { case: account });
      yield goodbye;
      return;
    }
    // An agent that does not ask has only the source's id at hand.
    const told = agent.slips('no_question') ? undefined : wordAfter(yield say('which account ?'), 'account');
    const target = told ?? account;
    if (!agent.slips('forget_write')) {
      yield call('transfer_money', { account, target, amount: slots.amount ?? '' });
    }
    yield goodbye;
  },
};
