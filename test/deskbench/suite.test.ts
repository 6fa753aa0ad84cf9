import { expect, it } from 'vitest';
import { createInlineDriver } from '../../activities/sandbox/inline.js';
import { checkSuite } from '../../suites/check.js';
import { createDeskOracle, ruleJudge, ruleUser } from '../../suites/deskbench/check.js';
import { deskEntries } from '../../suites/deskbench/entries.js';
import { rubricOf } from '../../suites/deskbench/scene.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { heldOutTemplates } from '../../suites/deskbench/templates/all.js';

const entries = deskEntries();
const train = entries.filter(({ ref }) => ref.split === 'train');
const benchmark = entries.filter(({ ref }) => ref.split === 'benchmark');

it('passes its own check over real MCP sessions', async () => {
  const report = await checkSuite(createDeskbench(), {
    driver: createInlineDriver(),
    oracle: createDeskOracle(),
    answer: ruleUser,
    judge: ruleJudge,
    signal: new AbortController().signal,
  });
  expect(report.problems).toEqual([]);
  expect(report.oraclePassed).toBe(198);
  expect(report.nothingPassed).toEqual([]);
  // Missing, repeated, elsewhere, elsewhere too: for every task's every write.
  expect(report.alterations).toBeGreaterThan(198 * 3);
  expect(report.calls.least).toBeGreaterThanOrEqual(2);
  expect(report.calls.most).toBeLessThanOrEqual(8);
});

it('finds a check that lets a wrong write pass', async () => {
  const suite = createDeskbench();
  const id = 'retail:refund-01';
  const blind = {
    ...suite,
    tasks: async () => (await suite.tasks()).filter((ref) => ref.id === id),
    load: async (task: string) => ({
      ...(await suite.load(task)),
      grade: async () => ({ passed: true, reward: 1, reasons: [], judged: [] }),
    }),
  };
  const report = await checkSuite(blind, {
    driver: createInlineDriver(),
    oracle: createDeskOracle(),
    answer: ruleUser,
    judge: ruleJudge,
    signal: new AbortController().signal,
  });
  expect(report.problems.map(({ what }) => what)).toEqual([
    'passes although refund_order is missing',
    'passes although refund_order was made twice',
    'passes although refund_order was made elsewhere',
    'passes although refund_order was made elsewhere too',
  ]);
});

it('has 150 candidates and 48 benchmark tasks, some of templates that are never trained on', () => {
  expect(train).toHaveLength(150);
  expect(benchmark).toHaveLength(48);
  expect(new Set(entries.map(({ ref }) => ref.id)).size).toBe(198);
  const trained = new Set(train.map(({ ref }) => ref.template));
  const unseen = new Set(benchmark.map(({ ref }) => ref.template).filter((name) => !trained.has(name)));
  expect([...unseen].sort()).toEqual([...heldOutTemplates].sort());
  expect(new Set(entries.map(({ ref }) => ref.domain))).toEqual(new Set(['retail', 'travel', 'bank']));
});

it('shares no identifier, amount, wording or opening between the splits', () => {
  const numbersOf = (list: typeof entries) =>
    new Set(
      list.flatMap(({ task }) =>
        [...JSON.stringify([task.scene, task.opening]).matchAll(/[a-z$]\d\d(?!\d)/g)].map(([text]) => text),
      ),
    );
  const digestsOf = (list: typeof entries) => new Set(list.map(({ ref }) => ref.templateDigest));
  expect(numbersOf(train).size).toBeGreaterThan(100);
  expect(shared(numbersOf(train), numbersOf(benchmark))).toEqual(new Set());
  expect(shared(digestsOf(train), digestsOf(benchmark))).toEqual(new Set());
  // The scripted policy knows tasks by their opening.
  expect(new Set(entries.map(({ task }) => task.opening)).size).toBe(198);
});

function shared<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): Set<T> {
  return new Set([...a].filter((value) => b.has(value)));
}

it('asks the judge for at least a tenth of the tasks, and keeps something private in some', () => {
  for (const list of [train, benchmark]) {
    const asked = list.filter(({ task }) => rubricOf(task) !== undefined).length;
    expect(asked / list.length).toBeGreaterThan(0.1);
    expect(asked / list.length).toBeLessThan(0.4);
    const secretive = list.filter(({ task }) => Object.keys(task.facts).length > 0).length;
    expect(secretive / list.length).toBeGreaterThan(0.15);
  }
});

it('is the same suite every time, with a digest to say so', async () => {
  const [one, two] = [createDeskbench(), createDeskbench()];
  expect(one.digest).toBe(two.digest);
  expect(one.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(await one.tasks()).toEqual(await two.tasks());
  expect(new Set((await one.tasks()).map((ref) => ref.digest)).size).toBe(198);
});

it('names near tasks for an unknown one', async () => {
  await expect(createDeskbench().load('retail:refund-99')).rejects.toThrow(
    /task: expected a task of deskbench, e\.g\. retail:refund-0\d.*found "retail:refund-99"/,
  );
});
