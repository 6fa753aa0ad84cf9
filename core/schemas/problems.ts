/** What is wrong with a file that a person wrote: one line for each problem, in the words of the file. */
import { z } from 'zod';
import { nearest } from '../nearest.js';

/** `path: expected ..., found ...` for every issue, in the order of the schema. Secrets are never repeated. */
export function problemsOf(schema: z.ZodType, issues: readonly z.core.$ZodIssue[], value: unknown): string[] {
  return issues.flatMap((issue) => problemLines(schema, issue, value));
}

function problemLines(schema: z.ZodType, issue: z.core.$ZodIssue, value: unknown): string[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, path, value);
    return issue.keys.map((key) => unknownKey([...path, key].join('.'), key, known));
  }
  const found = valueAt(value, path);
  const expected = expectation(issue);
  const near = typeof found === 'string' ? nearest(found, wordsOf(issue)) : undefined;
  const place = path.join('.') || 'the file';
  return [
    `${place}: expected ${expected}, found ${shown(found, path)}${near ? ` (did you mean ${near}?)` : ''}`,
  ];
}

function unknownKey(full: string, key: string, known: readonly string[]): string {
  const near = nearest(key, known) ?? known.find((name) => name.startsWith(key));
  if (near) return `unknown key ${full} (did you mean ${near}?)`;
  return `unknown key ${full}${known.length > 0 ? ` (known: ${known.join(', ')})` : ''}`;
}

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'keys with values',
  record: 'keys with values',
};

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? issue.expected;
    case 'too_small':
      if (issue.origin === 'string') return 'text that is not empty';
      if (issue.origin === 'array') return 'a list that is not empty';
      return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`;
    case 'invalid_value':
      return alternatives(issue.values.map(String));
    case 'invalid_union':
      return 'discriminator' in issue ? alternatives(wordsOf(issue)) : unionWords(issue.errors);
    case 'invalid_key':
      return `${issue.issues[0]?.message ?? 'another name'} as its name`;
    case 'invalid_format':
      return issue.format === 'url' ? 'a URL' : issue.message;
    default:
      return issue.message;
  }
}

/** The forms that a value can have, each by its first problem at the top. */
function unionWords(errors: readonly (readonly z.core.$ZodIssue[])[]): string {
  return errors
    .map((issues) => issues.map((issue) => `${within(issue)}${expectation(issue)}`).join(' and '))
    .join(', or ');
}

const within = ({ path }: z.core.$ZodIssue): string => (path.length === 0 ? '' : `${path.join('.')} as `);

function wordsOf(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code === 'invalid_union' && 'options' in issue) return (issue.options as unknown[]).map(String);
  return [];
}

function alternatives(words: readonly string[]): string {
  return words.length < 2 ? `"${words[0]}"` : `one of ${words.join(', ')}`;
}

const SECRET_KEY = /key|token$|secret|password/i;
const LONGEST = 80;

const USER_IN_URL = /\/\/[^/\s]*@/;

/** The value as JSON; a secret by its length, a large value by its beginning. */
function shown(value: unknown, path: readonly string[]): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'a list' : 'keys with values';
  if (typeof value === 'string' && (SECRET_KEY.test(path.at(-1) ?? '') || USER_IN_URL.test(value))) {
    return `text of ${value.length} characters (not shown: it may be a secret)`;
  }
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… (${text.length} characters)`;
}

/** Known keys of the object at a path; of a union, those of the form that the value says it has. */
function keysAt(schema: z.ZodType, path: readonly string[], value: unknown): readonly string[] {
  let at: z.ZodType | undefined = schema;
  for (const [depth, key] of path.entries()) {
    const object = objectOf(at, valueAt(value, path.slice(0, depth)));
    if (object instanceof z.ZodObject) at = object.shape[key] as z.ZodType | undefined;
    else if (object instanceof z.ZodRecord) at = object.valueType as z.ZodType;
    else if (object instanceof z.ZodArray) at = object.element as z.ZodType;
    else return [];
  }
  const object = objectOf(at, valueAt(value, path));
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function objectOf(schema: z.ZodType | undefined, value: unknown): z.ZodType | undefined {
  if (schema instanceof z.ZodOptional) return objectOf(schema.unwrap() as z.ZodType, value);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const forms = schema.options as readonly z.ZodType[];
  const kind = valueAt(value, ['kind']);
  return (
    forms.find((form) => form instanceof z.ZodObject && form.shape.kind?.safeParse(kind).success) ??
    forms.find((form) => form instanceof z.ZodObject)
  );
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined),
    value,
  );
}
