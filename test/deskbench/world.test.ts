import { expect, it } from 'vitest';
import { answerCall } from '../../suites/deskbench/server.js';
import { applyWrites } from '../../suites/deskbench/world/domains.js';
import { differences, type Tables } from '../../suites/deskbench/world/tables.js';

const orders = (): Tables => ({
  orders: {
    r41: { customer: 'c52', item: 'lamp', status: 'delivered', total: 80, days: 12, city: 'rome' },
    r37: { customer: 'c52', item: 'chair', status: 'pending', total: 60, days: 0, city: 'oslo' },
    r14: { customer: 'c10', item: 'book', status: 'delivered', total: 61, days: 31, city: 'lima' },
  },
});

it('answers reads in the words of the desk and leaves the tables alone', () => {
  const tables = orders();
  const read = (name: string, args: Record<string, string>) => answerCall('retail', tables, name, args);
  expect(read('find_order', { customer: 'c52', item: 'chair' })).toEqual({
    text: 'order r37 .',
    isError: false,
  });
  expect(read('get_order', { order: 'r41' }).text).toBe('lamp delivered recent over limit $80 .');
  expect(read('get_order', { order: 'r37' }).text).toBe('chair pending under limit $60 .');
  expect(read('get_order', { order: 'r14' }).text).toBe('book delivered late over limit $61 .');
  expect(tables).toEqual(orders());
});

it('writes rows that can be read by hand', () => {
  const after = applyWrites('retail', orders(), [
    { tool: 'refund_order', args: { order: 'r41' } },
    { tool: 'change_city', args: { order: 'r37', city: 'cairo' } },
    { tool: 'request_approval', args: { case: 'r14' } },
  ]);
  expect(after).toEqual({
    orders: {
      r41: { customer: 'c52', item: 'lamp', status: 'refunded', total: 80, days: 12, city: 'rome' },
      r37: { customer: 'c52', item: 'chair', status: 'pending', total: 60, days: 0, city: 'cairo' },
      r14: { customer: 'c10', item: 'book', status: 'delivered', total: 61, days: 31, city: 'lima' },
    },
    refunds: { r41: { amount: 80, times: 1 } },
    changes: { r37: { city: 'cairo', times: 1 } },
    approvals: { r14: { times: 1 } },
  });
});

it('moves money once per call', () => {
  const start: Tables = {
    accounts: { a21: { status: 'open', balance: 150 }, a35: { status: 'open', balance: 20 } },
  };
  const write = { tool: 'transfer_money', args: { account: 'a21', target: 'a35', amount: '$40' } };
  expect(applyWrites('bank', start, [write, write])).toEqual({
    accounts: { a21: { status: 'open', balance: 70 }, a35: { status: 'open', balance: 100 } },
    transfers: { 'a21-a35': { amount: 40, times: 2 } },
  });
});

it('keeps no trace of the order of independent writes', () => {
  const [one, two] = [
    { tool: 'cancel_order', args: { order: 'r37' } },
    { tool: 'deny_request', args: { case: 'r41' } },
  ];
  expect(one && two && applyWrites('retail', orders(), [one, two])).toEqual(
    one && two && applyWrites('retail', orders(), [two, one]),
  );
});

it.each([
  ['get_order', { order: 'r99' }, 'no such order .'],
  ['get_order', { order: 'constructor' }, 'no such order .'],
  ['get_order', {}, 'bad order .'],
  ['get_order', { order: 41 }, 'bad order .'],
  ['get_order', { order: 'r41', city: 'rome' }, 'bad parameter .'],
  ['change_city', { order: 'r41' }, 'bad city .'],
  ['deny_request', { case: '__proto__' }, 'no such case .'],
  ['find_order', { customer: 'c52', item: 'book' }, 'no such order .'],
  ['find_order', { customer: 'c52' }, 'bad item .'],
  ['upgrade_seat', { booking: 'b31' }, 'no such tool .'],
])('answers %s %j with an error and changes nothing', (name, args, text) => {
  const tables = orders();
  expect(answerCall('retail', tables, name, args)).toEqual({ text, isError: true });
  expect(tables).toEqual(orders());
});

it('says every difference in words', () => {
  const expected = applyWrites('retail', orders(), [{ tool: 'refund_order', args: { order: 'r41' } }]);
  const found = applyWrites('retail', orders(), [{ tool: 'deny_request', args: { case: 'r41' } }]);
  expect(differences(expected, found)).toEqual([
    'denials r41: a row that should not be there: times 1',
    'orders r41: expected status refunded, found delivered',
    'refunds r41: the row is missing, expected amount 80, times 1',
  ]);
  expect(differences({ refunds: {} }, {})).toEqual([]);
});
