/**
 * The closed lexicon: every word that a request, an observation, a user's answer or a message of the scripted agents
 * can contain, with the names of tools and parameters. A tokenizer made from it never needs its byte fallback here.
 *
 * Identifiers and amounts are a prefix (`r`, `$`) and digits; prefixes are listed apart.
 */
import { ID_PREFIXES } from './draw.js';
import { systemMessage } from './scene.js';
import { NEW_CARD_SENTENCE } from './templates/accounts.js';
import { TEMPLATES } from './templates/all.js';
import { TELL_SENTENCE } from './templates/template.js';
import { CITIES, COLORS, ITEMS } from './vocabulary.js';
import { DOMAIN_NAMES, DOMAINS } from './world/domains.js';

/** Words of tools' answers, user answers, agents' messages, and slots that wordings are filled with. */
const SPOKEN = `
  recent late over under limit pending shipped delivered refunded cancelled
  city changed item sent approval requested request denied
  flight flexible fixed seats free full punctual delayed seat upgraded waitlist joined voucher issued booking moved
  card settled account open frozen blocked ordered disputed money transferred
  no such bad order booking flight payment account card case customer item city traveler client color tool parameter
  amount target
  which choice refund or replacement done thanks i do not know and the
  hello please help . , ? <DONE>
`;

const tools = Object.values(DOMAINS).flat();

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '' && !/^[a-z$]\d+$/.test(word));
}

const wordings = TEMPLATES.flatMap(({ wordings: { train, benchmark } }) => [...train, ...benchmark]).map(
  (wording) => wording.replace(/\{\w+\}/g, ' '),
);

function unique(words: readonly string[]): readonly string[] {
  return [...new Set(words)].sort();
}

export const LEXICON = {
  words: unique(
    [
      SPOKEN,
      TELL_SENTENCE,
      NEW_CARD_SENTENCE,
      ...wordings,
      ...DOMAIN_NAMES.map(systemMessage),
      ...ITEMS,
      ...CITIES,
      ...COLORS,
    ].flatMap(wordsOf),
  ),
  prefixes: [...Object.values(ID_PREFIXES), '$'],
  tools: unique(tools.map((tool) => tool.name)),
  parameters: unique(tools.flatMap((tool) => Object.keys(tool.parameters))),
} as const;

/** Whether every word of a text belongs to the lexicon. */
export function inLexicon(text: string): boolean {
  const words = new Set<string>(LEXICON.words);
  const identifier = new RegExp(`^[${LEXICON.prefixes.join('').replace('$', '\\$')}]\\d{1,3}$`);
  return text.split(' ').every((word) => words.has(word) || identifier.test(word));
}
