/** What a run asks of its trainer's updates beyond the reference recipe: importance weights, and the bound on the mismatch. */
import { describe, expect, test } from 'vitest';
import { withSettings } from '../../cli/replay/settings.js';
import { trainConfig } from '../../cli/run/resolve.js';
import { parseRunFile } from '../../core/schemas/run-file.js';
import { planFor, planSupport, updateSettings } from '../../core/update-settings.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { MISMATCH_BOUND, UPDATE_PLAN } from '../../temporal.config.js';

const FULL = planSupport({ importance: ['truncated'], mismatchBound: true });
const NONE = planSupport({ losses: ['clipped-policy-gradient'] });

async function configOf(plan: object) {
  const suite = createDeskbench();
  const pool = (await suite.tasks()).filter(({ split }) => split === 'train').map(({ id }) => id);
  return trainConfig(parseRunFile({ train: { plan } }, 'run.yaml'), suite, pool);
}

describe('a run file', () => {
  test('that says nothing has the plan that it always had, so that a run keeps its identity', async () => {
    expect((await configOf({})).plan).toEqual(UPDATE_PLAN);
    expect((await configOf({ importance: { kind: 'none' } })).plan).toEqual(UPDATE_PLAN);
  });

  test('that asks for importance weights or another bound has them in its configuration', async () => {
    const { plan } = await configOf({ importance: { kind: 'truncated' }, mismatch: { meanAbove: 0.5 } });
    expect(plan.importance).toEqual({ kind: 'truncated', cap: 2 });
    expect(plan.mismatch).toEqual({ ...MISMATCH_BOUND, meanAbove: 0.5 });
    expect((await configOf({ mismatch: 'none' })).plan.mismatch).toBe('none');
  });

  test.each([
    [{ importance: { kind: 'masked' } }, 'train.plan.importance', 'none, truncated'],
    [{ importance: { kind: 'truncated', cap: 0 } }, 'train.plan.importance.cap', 'at least 0.01'],
    [{ importance: { kind: 'truncated', capp: 2 } }, 'train.plan.importance.capp', 'did you mean cap'],
    [{ mismatch: { meanAbove: -1 } }, 'train.plan.mismatch', 'at least 0'],
    [{ mismatch: { shareAbove: 30 } }, 'train.plan.mismatch', 'at most 1'],
    [{ mismatch: 'off' }, 'train.plan.mismatch', 'none'],
  ])('with %j is refused', (plan, place, expected) => {
    const parse = () => parseRunFile({ train: { plan } }, 'run.yaml');
    expect(parse).toThrow(place);
    expect(parse).toThrow(expected);
  });
});

describe('the plan for a trainer', () => {
  const settings = (written: Parameters<typeof updateSettings>[2]) =>
    updateSettings(UPDATE_PLAN, MISMATCH_BOUND, written);

  test('has the default bound where the trainer can check it, and none where it cannot', () => {
    expect(planFor(settings({}), MISMATCH_BOUND, FULL)).toEqual({ ...UPDATE_PLAN, mismatch: MISMATCH_BOUND });
    expect(planFor(settings({}), MISMATCH_BOUND, NONE)).toEqual(UPDATE_PLAN);
    expect(planFor(settings({ mismatch: 'none' }), MISMATCH_BOUND, FULL)).toEqual(UPDATE_PLAN);
  });

  test('has the bound that the trainer proposes, unless the run has one of its own', () => {
    const own = { meanAbove: 1e-3, shareAbove: 5e-3 };
    const exact = planSupport({ mismatchBound: own });
    expect(exact).toMatchObject({ mismatchBound: true, proposedBound: own });
    expect(planFor(settings({}), MISMATCH_BOUND, exact).mismatch).toEqual(own);
    const written = planFor(settings({ mismatch: { meanAbove: 0.5 } }), MISMATCH_BOUND, exact);
    expect(written.mismatch).toEqual({ ...MISMATCH_BOUND, meanAbove: 0.5 });
    expect(planSupport({ mismatchBound: { meanAbove: 1 } }).mismatchBound).toBe(false);
  });

  test('that the trainer cannot follow is refused', () => {
    const weighed = settings({ importance: { kind: 'truncated', cap: 3 } });
    expect(planFor(weighed, MISMATCH_BOUND, FULL)).toMatchObject({
      importance: { kind: 'truncated', cap: 3 },
    });
    expect(() => planFor(weighed, MISMATCH_BOUND, NONE)).toThrow(
      /train\.plan\.importance: expected a trainer whose capabilities name "truncated"/,
    );
    const bound = settings({ mismatch: { meanAbove: 0.2 } });
    expect(() => planFor(bound, MISMATCH_BOUND, NONE)).toThrow(/capabilities\.mismatchBound/);
  });
});

describe('a fork', () => {
  test('can change them one by one, and take them back', async () => {
    const plain = await configOf({});
    const weighed = withSettings(plain, ['plan.importance.cap=3']);
    expect(weighed.plan.importance).toEqual({ kind: 'truncated', cap: 3 });
    expect(withSettings(weighed, ['train.plan.importance.kind=none']).plan).toEqual(plain.plan);
    expect(withSettings(plain, ['plan.mismatch.shareAbove=0.5']).plan.mismatch).toEqual({
      ...MISMATCH_BOUND,
      shareAbove: 0.5,
    });
    expect(withSettings(plain, ['plan.mismatch=none', 'plan.clip=0.3']).plan).toEqual({
      ...UPDATE_PLAN,
      clip: 0.3,
      mismatch: 'none',
    });
    expect(() => withSettings(plain, ['plan.importance.capp=3'])).toThrow('plan.importance.cap');
    expect(() => withSettings(plain, ['plan.importance.cap=-1'])).toThrow('at least 0.01');
  });
});
