/**
 * How an agent works on a task, turn by turn, from nothing but the request's own words, what tools answer and what
 * the user says. One script serves the oracle (never slips) and the noisy demonstrator (slips at given rates).
 */

/** What a request can name: placeholder of a wording → text. A script is given only those that its request names. */
export type Slots = Readonly<Record<string, string>>;

export type Step =
  | { readonly kind: 'call'; readonly tool: string; readonly args: Readonly<Record<string, string>> }
  | { readonly kind: 'say'; readonly text: string };

/** Yields steps; each `yield` returns the observation: the tool's text, or the user's answer. The last step ends the talk. */
export type Script = Generator<Step, void, string>;

/** Ways to get a decision wrong, one sentence each. */
export const SLIPS = {
  skip_read: 'acts without reading the record first',
  eager: 'does what was asked although the record forbids it',
  timid: 'refuses or passes on what the record allows',
  no_question: 'guesses what only the user knows instead of asking',
  forget_write: 'ends before the last change is made',
  no_amount: 'leaves out the amount that the user wanted to hear',
} as const;
export type Slip = keyof typeof SLIPS;

/** The agent's side of chance. */
export interface Chooser {
  slips(kind: Slip): boolean;
  /** Which of several wrong options, once slipped. */
  pick<T>(options: readonly T[]): T;
}

/** Never slips. */
export const steady: Chooser = {
  slips: () => false,
  pick: (options) => {
    throw new Error(`a steady agent picks no wrong option (of ${options.length})`);
  },
};

export const DONE_MARKER = '<DONE>';

export function call(tool: string, args: Readonly<Record<string, string>>): Step {
  return { kind: 'call', tool, args };
}

export function say(text: string): Step {
  return { kind: 'say', text };
}

export const goodbye: Step = say(`done . ${DONE_MARKER}`);

/** Last message of a task whose request may want to hear the amount. */
export function goodbyeWithAmount(agent: Chooser, wanted: boolean, amount: string | undefined): Step {
  if (!wanted || amount === undefined || agent.slips('no_amount')) return goodbye;
  return say(`amount ${amount} . ${DONE_MARKER}`);
}

/** The branch taken: `right`, unless the agent slips. `asked` is the branch that the request wishes for. */
export function decide<T>(agent: Chooser, right: T, asked: T, others: readonly T[]): T {
  if (right === asked) return agent.slips('timid') ? agent.pick(others) : right;
  return agent.slips('eager') ? asked : right;
}

export function hasWord(text: string, word: string): boolean {
  return text.split(' ').includes(word);
}

/** `$80` from a text, or undefined. */
export function amountIn(text: string): string | undefined {
  return text.split(' ').find((word) => word.startsWith('$'));
}

/** The word after `label` in an answer (`city paris .`), or undefined when the user did not say. */
export function wordAfter(text: string, label: string): string | undefined {
  const words = text.split(' ');
  const at = words.indexOf(label);
  return at < 0 ? undefined : words[at + 1];
}
