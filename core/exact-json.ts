/**
 * JSON whose numbers must arrive as they were written. JavaScript reads 300.0 as 300 and loses digits beyond 2^53; a
 * program that keeps exact decimals tells the difference, and so does the hash of its state.
 */

/** Stands for a call's arguments in a message; transports that write lines write the text itself. */
export class ExactJson {
  constructor(readonly text: string) {}
}

/** String literals, so that digits inside them are passed over, and number literals. */
const LITERAL = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** True when a number in this JSON text is written otherwise than JavaScript would write it. */
export function losesForm(text: string): boolean {
  for (const [literal] of text.matchAll(LITERAL)) {
    if (!literal.startsWith('"') && String(Number(literal)) !== literal) return true;
  }
  return false;
}

/** A JSON-RPC message as one line; `params.arguments` may be `ExactJson` and is then written as its text. */
export function exactLine(message: object): string {
  const params = 'params' in message ? message.params : undefined;
  const args = isObject(params) ? params.arguments : undefined;
  if (!isObject(params) || !(args instanceof ExactJson)) return JSON.stringify(message);
  const envelope = JSON.stringify({ ...message, params: undefined }).slice(1, -1);
  const others = JSON.stringify({ ...params, arguments: undefined }).slice(1, -1);
  const comma = others === '' ? '' : ',';
  return `{${envelope},"params":{${others}${comma}"arguments":${oneLine(args.text)}}}`;
}

/** Line breaks are allowed between the tokens of JSON, and nowhere within one. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
