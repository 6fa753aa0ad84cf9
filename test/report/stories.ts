/** Conversations for the fixture, in the manner of `deskbench`. */
import type { Json, JsonObject, Message } from '../../core/message.js';
import type { EpisodeView, StoryReport } from '../../core/report-data.js';
import type { Effects } from '../../core/suite.js';

const system: Message = { role: 'system', content: 'retail desk .' };
const user = (content: string): Message => ({ role: 'user', content });
const say = (content: string): Message => ({ role: 'assistant', reasoning: '', content, toolCalls: [] });

function call(
  id: string,
  name: string,
  args: JsonObject,
  answer: string,
  isError = false,
): readonly Message[] {
  return [
    { role: 'assistant', reasoning: '', content: '', toolCalls: [{ id, name, arguments: args }] },
    { role: 'tool', callId: id, name, content: answer, isError },
  ];
}

const ORDERS: { readonly [id: string]: Json } = {
  r41: { customer: 'c52', item: 'lamp', status: 'delivered', days: 12, total: 80, city: 'lyon' },
  r37: { customer: 'c52', item: 'chair', status: 'delivered', days: 44, total: 35, city: 'lyon' },
  r90: { customer: 'c17', item: 'desk', status: 'pending', days: 0, total: 140, city: 'oslo' },
};

function retail(parts: { readonly [table: string]: Json }): Effects {
  return { retail: { orders: ORDERS, ...parts } };
}

function episode(
  parts: Pick<
    EpisodeView,
    'key' | 'label' | 'passed' | 'messages' | 'expected' | 'actual' | 'weightVersion'
  > & {
    readonly reasons?: readonly string[];
    readonly judged?: readonly { readonly question: string; readonly answer: boolean }[];
  },
): EpisodeView {
  const { reasons = [], judged = [], ...view } = parts;
  return {
    ...view,
    termination: 'done',
    verdict: { passed: view.passed, reward: view.passed ? 1 : 0, reasons, judged },
    usage: {
      policyPromptTokens: 318,
      policySampledTokens: 44,
      policyCalls: 4,
      otherPromptTokens: 61,
      otherSampledTokens: 3,
      otherCalls: 1,
    },
    seed: '4119867203341790021',
    trajectory: 'sha256:7c1f0e5a93bd4402c8f1d2a9be5c77a1f09d3e6688aa41c2b7d3f5e9018c2d4b',
  };
}

export function stories(base: string, final: string): readonly StoryReport[] {
  const approval = retail({ approvals: { r41: { times: 1 } } });
  return [
    {
      kind: 'gained',
      taskId: 'retail_benchmark:refund_lookup-02',
      domain: 'retail',
      before: { passed: 9, attempts: 20 },
      after: { passed: 20, attempts: 20 },
      episodes: [
        episode({
          key: 'eval/demo-base · retail_benchmark:refund_lookup-02 · 3',
          label: 'Before training: a failed attempt',
          passed: false,
          weightVersion: base,
          messages: [
            system,
            user('please refund the lamp of customer c52 . tell me the amount .'),
            ...call('c0', 'find_orders', { customer: 'c52' }, 'r41 lamp . r37 chair .'),
            ...call('c1', 'get_order', { order: 'r41' }, 'lamp delivered recent over limit $80 .'),
            ...call('c2', 'refund_order', { order: 'r41' }, 'refunded $80 .'),
            say('amount $80 . <DONE>'),
          ],
          expected: approval,
          actual: {
            retail: {
              orders: { ...ORDERS, r41: { ...(ORDERS.r41 as JsonObject), status: 'refunded' } },
              refunds: { r41: { amount: 80, times: 1 } },
            },
          },
          reasons: [
            'approvals r41: the row is missing, expected times 1',
            'orders r41: expected status delivered, found refunded',
            'refunds r41: a row that should not be there: amount 80, times 1',
          ],
        }),
        episode({
          key: 'eval/demo-final · retail_benchmark:refund_lookup-02 · 3',
          label: 'After training: the same attempt',
          passed: true,
          weightVersion: final,
          messages: [
            system,
            user('please refund the lamp of customer c52 . tell me the amount .'),
            ...call('c0', 'find_orders', { customer: 'c52' }, 'r41 lamp . r37 chair .'),
            ...call('c1', 'get_order', { order: 'r41' }, 'lamp delivered recent over limit $80 .'),
            ...call('c2', 'request_approval', { case: 'r41' }, 'approval requested .'),
            say('amount $80 . <DONE>'),
          ],
          expected: approval,
          actual: approval,
          judged: [{ question: 'does the message tell the amount $80 ?', answer: true }],
        }),
      ],
    },
    {
      kind: 'solved',
      taskId: 'retail_benchmark:address-01',
      domain: 'retail',
      before: { passed: 20, attempts: 20 },
      after: { passed: 20, attempts: 20 },
      episodes: [
        episode({
          key: 'eval/demo-final · retail_benchmark:address-01 · 0',
          label: 'After training',
          passed: true,
          weightVersion: final,
          messages: [
            system,
            user('hello , please send order r90 to another city .'),
            ...call('c0', 'get_order', { order: 'r90' }, 'desk pending over limit $140 .'),
            say('which city ?'),
            user('city : rome .'),
            ...call('c1', 'change_city', { order: 'r90', city: 'rome' }, 'city changed .'),
            say('done . <DONE>'),
          ],
          expected: retail({ changes: { r90: { city: 'rome', times: 1 } } }),
          actual: retail({ changes: { r90: { city: 'rome', times: 1 } } }),
        }),
      ],
    },
    {
      kind: 'lost',
      taskId: 'bank_benchmark:fraud_new-01',
      domain: 'bank',
      before: { passed: 20, attempts: 20 },
      after: { passed: 18, attempts: 20 },
      episodes: [
        episode({
          key: 'eval/demo-final · bank_benchmark:fraud_new-01 · 11',
          label: 'After training: a failed attempt',
          passed: false,
          weightVersion: final,
          messages: [
            { role: 'system', content: 'bank desk .' },
            user('payment p33 is a fraud . i need a new card .'),
            ...call('c0', 'get_payment', { payment: 'p33' }, 'card b12 settled under limit $24 .'),
            ...call('c1', 'block_card', { card: 'b21' }, 'no such card .', true),
            ...call('c2', 'block_card', { card: 'b12' }, 'card blocked .'),
            ...call('c3', 'open_dispute', { payment: 'p33' }, 'dispute opened .'),
            say('done . <DONE>'),
          ],
          expected: {
            bank: {
              cards: { b12: { client: 'k52', color: 'blue', status: 'blocked' } },
              disputes: { p33: { times: 1 } },
              card_orders: { b12: { times: 1 } },
            },
          },
          actual: {
            bank: {
              cards: { b12: { client: 'k52', color: 'blue', status: 'blocked' } },
              disputes: { p33: { times: 1 } },
            },
          },
          reasons: ['card_orders b12: the row is missing, expected times 1'],
        }),
      ],
    },
  ];
}
