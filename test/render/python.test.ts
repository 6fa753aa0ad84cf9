/** Templates print, trim and dump as Python does. What is expected here was printed by Python 3.11 and jinja2 3.1.6. */
import { describe, expect, test } from 'vitest';
import { PythonTemplate } from '../../core/render/python-jinja.js';

const render = (source: string, variables: Record<string, unknown> = {}): string =>
  new PythonTemplate(source).render(variables);

test.each([
  [1, '1'],
  [-0.25, '-0.25'],
  [1e-4, '0.0001'],
  [1e-5, '1e-05'],
  [-1.25e-7, '-1.25e-07'],
  [5e-324, '5e-324'],
  [0.1 + 0.2, '0.30000000000000004'],
  [1e16, '10000000000000000'],
  [1e21, '1e+21'],
  [1.5e300, '1.5e+300'],
  [null, 'null'],
  [true, 'true'],
  ['<b>"x" & \'y\'</b> é漢🙂\u0001\u007f\u2028', '"<b>\\"x\\" & \'y\'</b> é漢🙂\\u0001\u007f\u2028"'],
  [{}, '{}'],
  [[], '[]'],
  [{ a: [1, { b: null }], 'é"': {} }, '{"a": [1, {"b": null}], "é\\"": {}}'],
] as const)('%j | tojson', (value, expected) => {
  expect(render('{{ value | tojson }}', { value })).toBe(expected);
});

test.each([
  ['{{ value | tojson(indent=2) }}', '{\n  "b": [\n    1,\n    "é"\n  ],\n  "a": {}\n}'],
  ['{{ value | tojson(true) }}', '{"b": [1, "\\u00e9"], "a": {}}'],
  ["{{ value | tojson(separators=(',', ':'), sort_keys=true) }}", '{"a":{},"b":[1,"é"]}'],
])('%s', (source, expected) => {
  expect(render(source, { value: { b: [1, 'é'], a: {} } })).toBe(expected);
});

test.each([
  ['{{ true }} {{ none }} {{ 1.0 }} {{ missing }}', 'True None 1.0 '],
  ['{{ true | string }}{{ none | string }}{{ 2 | string }}', 'TrueNone2'],
  ["{{ 'a' ~ true ~ none ~ 1.5 }}", 'aTrueNone1.5'],
  ['{% set x = none %}{% macro m() %}y{% endmacro %}{{ m() }}', 'y'],
  ['{{ range(3) | join }}{{ range(5, 1, -2) | join }}', '01253'],
])('%s', (source, expected) => {
  expect(render(source)).toBe(expected);
});

describe('blanks', () => {
  const value = '\ufeff\x1f\x85\u3000\n a \n\u00a0\x1c';
  test.each([
    ['{{ value.strip() }}', '\ufeff\x1f\x85\u3000\n a'],
    ['{{ value | trim }}', '\ufeff\x1f\x85\u3000\n a'],
    ["{{ '\n a \n'.strip('\n') }}", ' a '],
    ["{{ '\n a \n'.lstrip('\n') }}", ' a \n'],
    ["{{ '\n a \n'.rstrip('\n') }}", '\n a '],
    ["{{ 'xxaxx' | trim('x') }}", 'a'],
  ])('%j', (source, expected) => {
    expect(render(source, { value })).toBe(expected);
  });
});

test('a prompt does not depend on the day', () => {
  expect(render("{% if strftime_now is defined %}{{ strftime_now('%d') }}{% else %}no date{% endif %}")).toBe(
    'no date',
  );
});
