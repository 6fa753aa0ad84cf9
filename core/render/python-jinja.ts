/**
 * Jinja as serving engines run it (Python's `jinja2` in the environment of `transformers`), on top of
 * `@huggingface/jinja`, which prints, trims and dumps JSON as JavaScript does.
 *
 * The interpreter's own methods are overridden where Python differs: `tojson` (floats), `string`, `trim`, the `strip`
 * family with its characters, `~`, and what `{{ }}` prints for true, false and none. The package is pinned to one
 * version, and `native/render-parity` compares both sides. Left as they are: how lists and mappings print without
 * `tojson`, and lengths of strings beyond the basic plane.
 */
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { floatText, integerText, type JsonStyle, jsonString, strip } from './python-text.js';

/** A value at run time, as the interpreter has it. */
interface Value {
  readonly type: string;
  readonly value: unknown;
}

interface Node {
  readonly type: string;
}

interface FilterNode extends Node {
  readonly value?: string;
  readonly callee?: { readonly value: string };
  readonly args?: readonly Node[];
}

interface MemberNode extends Node {
  readonly object: Node;
  readonly property: { readonly value?: unknown };
  readonly computed: boolean;
}

interface BinaryNode extends Node {
  readonly operator: { readonly value: string };
  readonly left: Node;
  readonly right: Node;
}

/** The methods of the interpreter that are ours to override; its types call them private. */
interface Inner {
  run(program: unknown): Value;
  evaluate(node: Node, environment: Environment): Value;
  evaluateArguments(args: readonly Node[], environment: Environment): [Value[], Map<string, Value>];
  evaluateBinaryExpression(node: BinaryNode, environment: Environment): Value;
  evaluateBlock(body: readonly Node[], environment: Environment): Value;
  evaluateMemberExpression(node: MemberNode, environment: Environment): Value;
  applyFilter(operand: Value, filter: FilterNode, environment: Environment): Value;
}

const Base = Interpreter as unknown as new (environment: Environment) => Inner;

const Text = new Environment().set('text', '').constructor as new (text: string) => Value;
const ENDS = { strip: 'both', lstrip: 'left', rstrip: 'right' } as const;
/** Statements that print nothing themselves; the values of all others are printed. */
const SILENT: ReadonlySet<string> = new Set(['Set', 'Macro', 'Comment']);

class PythonInterpreter extends Base {
  override applyFilter(operand: Value, filter: FilterNode, environment: Environment): Value {
    const name = filter.value ?? filter.callee?.value;
    if (name !== 'tojson' && name !== 'string' && name !== 'trim')
      return super.applyFilter(operand, filter, environment);
    if (name === 'string') return runtimeValue(printed(operand));
    const [args, named] = this.evaluateArguments(filter.args ?? [], environment);
    if (name === 'tojson') return runtimeValue(json(operand, jsonStyle(args, named)));
    const characters = (args[0] ?? named.get('chars'))?.value;
    return runtimeValue(
      strip(printed(operand), 'both', typeof characters === 'string' ? characters : undefined),
    );
  }

  override evaluateMemberExpression(node: MemberNode, environment: Environment): Value {
    const name = node.property.value;
    if (!node.computed && (name === 'strip' || name === 'lstrip' || name === 'rstrip')) {
      const text = this.evaluate(node.object, environment).value;
      if (typeof text === 'string')
        return runtimeValue((characters?: string | null) => strip(text, ENDS[name], characters ?? undefined));
    }
    return super.evaluateMemberExpression(node, environment);
  }

  override evaluateBinaryExpression(node: BinaryNode, environment: Environment): Value {
    if (node.operator.value !== '~') return super.evaluateBinaryExpression(node, environment);
    return runtimeValue(
      printed(this.evaluate(node.left, environment)) + printed(this.evaluate(node.right, environment)),
    );
  }

  override evaluateBlock(body: readonly Node[], environment: Environment): Value {
    let text = '';
    for (const statement of body) {
      const value = this.evaluate(statement, environment);
      if (!SILENT.has(statement.type)) text += printed(value);
    }
    return runtimeValue(text);
  }
}

/** A template; `render` can be called any number of times. The constructor throws an Error for one that does not parse. */
export class PythonTemplate {
  private readonly program: unknown;

  constructor(source: string) {
    this.program = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  }

  /** Throws an Error with what the template raised or asked for in vain. */
  render(variables: Readonly<Record<string, unknown>>): string {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...GLOBALS, ...variables })) environment.set(name, value);
    return String(new PythonInterpreter(environment).run(this.program).value);
  }
}

/** No `strftime_now`: a prompt that changes from day to day is no prompt to train on. */
const GLOBALS: Readonly<Record<string, unknown>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  raise_exception: (message: unknown) => {
    throw new Error(String(message));
  },
  range: (first: number, end?: number, step = 1) => {
    const [from, to] = end === undefined ? [0, first] : [first, end];
    if (step === 0) throw new Error('range() step must not be zero');
    return Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, i) => from + i * step);
  },
};

function runtimeValue(value: unknown): Value {
  return typeof value === 'string' ? new Text(value) : (new Environment().set('value', value) as Value);
}

/** `str(value)`. */
function printed(input: Value): string {
  const { type, value } = input;
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (type === 'NullValue') return 'None';
  if (type === 'UndefinedValue') return '';
  if (typeof value === 'number') return type === 'FloatValue' ? floatText(value) : integerText(value);
  return json(input, ONE_LINE);
}

const ONE_LINE: JsonStyle = { ensureAscii: false, indent: null, separators: [', ', ': '], sortKeys: false };

/** Arguments of `tojson(ensure_ascii, indent, separators, sort_keys)`. */
function jsonStyle(args: readonly Value[], named: ReadonlyMap<string, Value>): JsonStyle {
  const [ascii, width, between, sorted] = ['ensure_ascii', 'indent', 'separators', 'sort_keys'].map(
    (name, place) => (args[place] ?? named.get(name))?.value,
  );
  const indent = typeof width === 'number' ? width : null;
  const pair = Array.isArray(between) ? between.map((part: Value) => String(part.value)) : [];
  return {
    ensureAscii: ascii === true,
    indent,
    separators: [pair[0] ?? (indent === null ? ', ' : ','), pair[1] ?? ': '],
    sortKeys: sorted === true,
  };
}

/** `json.dumps`. */
function json(input: Value, style: JsonStyle, depth = 0): string {
  const { type, value } = input;
  if (type === 'NullValue') return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return type === 'FloatValue' ? floatText(value) : integerText(value);
  if (typeof value === 'string') return jsonString(value, style.ensureAscii);
  if (Array.isArray(value)) {
    const items = value.map((item: Value) => json(item, style, depth + 1));
    return wrapped(items, '[', ']', style, depth);
  }
  if (value instanceof Map) {
    const entries = [...(value as Map<string, Value>)];
    if (style.sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    const items = entries.map(
      ([key, item]) =>
        jsonString(key, style.ensureAscii) + style.separators[1] + json(item, style, depth + 1),
    );
    return wrapped(items, '{', '}', style, depth);
  }
  throw new Error(`tojson: a value of type ${type} is no JSON`);
}

function wrapped(
  items: readonly string[],
  open: string,
  close: string,
  { indent, separators }: JsonStyle,
  depth: number,
): string {
  if (items.length === 0) return open + close;
  if (indent === null) return open + items.join(separators[0]) + close;
  const line = (level: number): string => `\n${' '.repeat(indent * level)}`;
  return open + line(depth + 1) + items.join(separators[0] + line(depth + 1)) + line(depth) + close;
}
