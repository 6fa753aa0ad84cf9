/**
 * A YAML list of ids, one a line, written as PyYAML's safe dumper writes it, so that lists can be compared byte for
 * byte: plain where a plain scalar reads back as the same string under YAML 1.1, else in single quotes, and in double
 * quotes with escapes where an id holds control or non-ASCII characters.
 */

/** Plain text that YAML reads as something other than a string. */
const OTHER_TYPES = [
  /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
  /^(?:~|null|Null|NULL|)$/,
  /^[-+]?(?:0b[0-1_]+|0[0-7_]+|(?:0|[1-9][0-9_]*)|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
  /^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  /^\d\d\d\d-\d\d-\d\d$/,
  /^\d\d\d\d-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?$/,
  /^(?:<<|=)$/,
  // Numbers of YAML 1.2 only; PyYAML writes these plain, and most other readers would read a number.
  /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/,
  /^0o[0-7]+$/,
];

/** Characters that may not begin a plain scalar, and character pairs that end one. */
const NOT_PLAIN_START = /^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?:\s|$)|[ ]|---|\.\.\.)/;
const NOT_PLAIN_INSIDE = /: |:$| #| $/;
const NEEDS_ESCAPES = /[^\x20-\x7e]/;

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\x07': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\x1b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\x85': '\\N',
  '\xa0': '\\_',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

export function yamlList(ids: readonly string[]): string {
  return ids.length === 0 ? '[]\n' : ids.map((id) => `- ${scalar(id)}\n`).join('');
}

function scalar(text: string): string {
  if (NEEDS_ESCAPES.test(text)) return `"${[...text].map(escaped).join('')}"`;
  const plain =
    !OTHER_TYPES.some((pattern) => pattern.test(text)) &&
    !NOT_PLAIN_START.test(text) &&
    !NOT_PLAIN_INSIDE.test(text);
  return plain ? text : `'${text.replaceAll("'", "''")}'`;
}

function escaped(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x20 && code <= 0x7e) return character;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
