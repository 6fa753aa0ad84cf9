/** Held-out tasks of a training run: a part of its pool with `validateEvery`, else none. */
import { expect, it } from 'vitest';
import { pipelineConfig, trainConfig } from '../../cli/run/resolve.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';

const suite = createDeskbench();
const pool = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);

it('without validateEvery the whole pool is trained on', async () => {
  const config = await trainConfig({}, suite, pool);
  expect(config).toMatchObject({ tasks: pool, validateEvery: 0, validation: { tasks: [] } });
});

it('with it a part is held out, the same every time and another for another seed', async () => {
  const file = { train: { validateEvery: 5 } };
  const { tasks, validation } = await trainConfig(file, suite, pool);
  expect(validation.tasks.length).toBeGreaterThan(0);
  expect(validation.tasks.length).toBeLessThan(pool.length / 2);
  expect([...tasks, ...validation.tasks].sort()).toEqual([...pool].sort());
  expect((await trainConfig(file, suite, pool.toReversed())).validation.tasks.toSorted()).toEqual(
    validation.tasks.toSorted(),
  );
  expect((await trainConfig({ ...file, seed: 1 }, suite, pool)).validation.tasks).not.toEqual(
    validation.tasks,
  );
});

it('what is left must fill a batch', async () => {
  const file = { train: { validateEvery: 5 } };
  await expect(trainConfig(file, suite, pool.slice(0, 18))).rejects.toThrow(
    /at least 18 tasks, one batch, found \d+, and \d+ held out/,
  );
  const tiny = { train: { validateEvery: 1, shape: { groups: 1, minInformative: 1 } } };
  await expect(trainConfig(tiny, suite, pool.slice(0, 1))).rejects.toThrow(
    /a part can be held out, found 1 tasks/,
  );
});

it('a pipeline holds nothing out of its candidates: that is decided when the pool is known', async () => {
  const { probe, train } = await pipelineConfig({ train: { validateEvery: 5 } }, suite);
  expect(probe.tasks).toEqual(pool);
  expect(train).toMatchObject({ validateEvery: 5, validation: { tasks: [] } });
});
