import fc from 'fast-check';
import { expect, it } from 'vitest';
import { demonstrate } from '../../suites/deskbench/demonstrations.js';
import { Draw, splitOf } from '../../suites/deskbench/draw.js';
import { deskEntries } from '../../suites/deskbench/entries.js';
import { inLexicon, LEXICON } from '../../suites/deskbench/lexicon.js';
import { noisy, uniformRates } from '../../suites/deskbench/noise.js';
import { playTask } from '../../suites/deskbench/play.js';
import { steady } from '../../suites/deskbench/script.js';
import { TEMPLATES } from '../../suites/deskbench/templates/all.js';
import { DOMAINS } from '../../suites/deskbench/world/domains.js';

const entries = deskEntries();

/** Every text of one episode: contents, and arguments of calls. */
function textsOf(played: ReturnType<typeof playTask>): string[] {
  return played.messages.flatMap((message) =>
    message.role === 'assistant'
      ? [message.content, ...message.toolCalls.flatMap((call) => Object.values(call.arguments).map(String))]
      : [message.content],
  );
}

it('speaks only words of the closed lexicon, whatever mistakes are made', () => {
  const choosers = fc.record({ rate: fc.double({ min: 0, max: 1, noNaN: true }), seed: fc.string() });
  const check = fc.property(fc.constantFrom(...entries), choosers, ({ task }, { rate, seed }) => {
    for (const chooser of [steady, noisy(new Draw('train', seed), uniformRates(rate))]) {
      for (const text of textsOf(playTask(task, chooser)).filter((said) => said !== '')) {
        expect(text).toSatisfy(inLexicon);
        expect(text).not.toMatch(/ \d| {2}|\n/);
        expect(text).toBe(text.trim());
      }
    }
  });
  fc.assert(check, { numRuns: 400 });
});

it('uses every word it claims in training, so that none is met for the first time in the benchmark', () => {
  const trained = new Set(
    Array.from({ length: 4_000 }, (_, n) => demonstrate('words', n).demonstration.messages).flatMap(
      (messages) => JSON.stringify(messages).match(/[a-z]+|<DONE>|[.,?]/g) ?? [],
    ),
  );
  const benchmark = entries
    .filter(({ ref }) => ref.split === 'benchmark')
    .flatMap(
      ({ task }) =>
        textsOf(playTask(task, steady))
          .join(' ')
          .match(/[a-z]+|<DONE>|[.,?]/g) ?? [],
    );
  expect(benchmark.filter((word) => !trained.has(word))).toEqual([]);
});

it('has about 20 tools, each with words of its own in every argument', () => {
  expect(LEXICON.tools).toHaveLength(23);
  for (const tools of Object.values(DOMAINS)) {
    for (const tool of tools) expect(tool.description.length).toBeGreaterThan(20);
  }
  expect(LEXICON.words.length).toBeLessThan(200);
});

it('never trains on a benchmark sentence', () => {
  for (const { wordings } of TEMPLATES) {
    for (const sentence of wordings.benchmark) expect(wordings.train).not.toContain(sentence);
  }
});

it('draws parameters of demonstrations from the training side alone', () => {
  for (let n = 0; n < 600; n++) {
    const texts = JSON.stringify(demonstrate('sides', n).demonstration.messages);
    for (const [, digits] of texts.matchAll(/(?<=[^a-z])[a-z$](\d\d)(?!\d)/g)) {
      // Call ids (`c0`) have one digit, balances three.
      expect(splitOf(Number(digits))).toBe('train');
    }
  }
});

it('makes the same demonstration for the same seed and number, and others for other seeds', () => {
  const made = (seed: string) => Array.from({ length: 50 }, (_, n) => demonstrate(seed, n));
  expect(made('1')).toEqual(made('1'));
  expect(made('1')).not.toEqual(made('2'));
});

it('demonstrates every trained template with some success and some failure', () => {
  const tally = new Map<string, { passed: number; all: number }>();
  for (let n = 0; n < 3_600; n++) {
    const { demonstration, passed } = demonstrate('tally', n);
    const seen = tally.get(demonstration.taskTemplate) ?? { passed: 0, all: 0 };
    tally.set(demonstration.taskTemplate, { passed: seen.passed + Number(passed), all: seen.all + 1 });
  }
  expect(tally.size).toBe(12);
  for (const { passed, all } of tally.values()) {
    expect(passed / all).toBeGreaterThan(0.35);
    expect(passed / all).toBeLessThan(0.8);
  }
});
