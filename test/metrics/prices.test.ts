import { expect, it } from 'vitest';
import { costOf, parsePriceTable, priceOf } from '../../core/prices.js';

const usage = {
  policyPromptTokens: 2_000_000,
  policySampledTokens: 500_000,
  policyCalls: 3,
  otherPromptTokens: 1_000_000,
  otherSampledTokens: 0,
  otherCalls: 1,
};

it('costs tokens of both sides in dollars per million', () => {
  const policy = { promptPerMillion: 0.5, sampledPerMillion: 2 };
  expect(costOf(usage, policy)).toBe(2);
  expect(costOf(usage, policy, { promptPerMillion: 3, sampledPerMillion: 9 })).toBe(5);
});

it('names the model or the field that is wrong', () => {
  const table = parsePriceTable({ big: { promptPerMillion: 1, sampledPerMillion: 4 } }, 'prices');
  expect(priceOf(table, 'big').sampledPerMillion).toBe(4);
  expect(() => priceOf(table, 'small')).toThrow('a price for model "small", found prices for: big');
  expect(
    priceOf({ ...table, '*': { promptPerMillion: 0, sampledPerMillion: 0 } }, 'small').promptPerMillion,
  ).toBe(0);
  expect(() =>
    parsePriceTable({ big: { promptPerMillion: -1, sampledPerMillion: 4 } }, 'run.yaml: prices'),
  ).toThrow(
    'run.yaml: prices, model "big", promptPerMillion: expected dollars per million tokens, from 0, found -1',
  );
  expect(() => parsePriceTable({ big: { promptPerMillion: 1 } }, 'prices')).toThrow('sampledPerMillion');
  expect(() => parsePriceTable({ big: { prompt: 1 } }, 'prices')).toThrow('key "prompt"');
  expect(() => parsePriceTable([], 'prices')).toThrow('found a list');
});
