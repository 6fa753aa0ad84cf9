import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffStates } from '../../activities/report/state-diff.js';
import type { Json } from '../../core/message.js';

const ORDERS = {
  r1: { status: 'open', total: 80 },
  r2: { status: 'open', total: 20 },
  r3: { status: 'sent', total: 5 },
};

describe('two final states as tables', () => {
  it('shows rows that differ, are missing or are extra, and touched rows as context', () => {
    const diff = diffStates(
      { desk: { orders: ORDERS, approvals: { r1: { times: 1 } } } },
      {
        desk: {
          orders: { ...ORDERS, r1: { status: 'refunded', total: 80 } },
          refunds: { r1: { amount: 80 } },
        },
      },
      new Set(['r2']),
    );
    expect(diff.differing).toBe(3);
    expect(diff.equal).toBe(2);
    expect(
      diff.tables.map((table) => [table.name, table.rows.map((row) => [row.id, row.kind]), table.hidden]),
    ).toEqual([
      [
        'orders',
        [
          ['r1', 'changed'],
          ['r2', 'same'],
        ],
        1,
      ],
      ['approvals', [['r1', 'missing']], 0],
      ['refunds', [['r1', 'extra']], 0],
    ]);
    expect(diff.tables[0]?.rows[0]?.columns).toEqual(['status']);
  });

  it('reads lists of rows by id, plain values, and several servers', () => {
    const state = (name: string) => ({ shop: { users: [{ id: 7, name }], open: true }, mail: { sent: [] } });
    const diff = diffStates(state('ada'), state('bob'), new Set());
    expect(diff.tables.map((table) => table.name)).toEqual(['shop / users', 'shop']);
    expect(diff.tables[0]?.rows[0]).toMatchObject({ id: '7', kind: 'changed', columns: ['name'] });
  });

  it('keeps repeated ids apart, and ignores the order of keys', () => {
    const twice = {
      s: {
        rows: [
          { id: 'a', n: 1 },
          { id: 'a', n: 2 },
        ],
      },
    };
    expect(diffStates(twice, twice, new Set()).equal).toBe(2);
    const one = { s: { t: { r: { x: { b: 1, a: 2 }, y: 1 } } } };
    const other = { s: { t: { r: { y: 1, x: { a: 2, b: 1 } } } } };
    expect(diffStates(one, other, new Set()).differing).toBe(0);
  });

  it('never throws; a state equals itself, and a difference is seen from both sides', () => {
    const state = fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>, { maxKeys: 3 });
    fc.assert(
      fc.property(state, state, (left, right) => {
        expect(diffStates(left, left, new Set()).differing).toBe(0);
        const there = diffStates(left, right, new Set());
        const back = diffStates(right, left, new Set());
        expect(there.differing === 0).toBe(back.differing === 0);
      }),
    );
  });
});
