/** The schedule of faults: reproducible, within its time, and of every kind. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inWords, LINKS, nameOf, schedule, VICTIMS } from './schedule.js';

const seeds = fc.integer({ min: 0, max: 999_999_999 });
const times = fc.integer({ min: 1_000, max: 600_000 });

it('the same seed plans the same faults, and none outlasts its time', () => {
  fc.assert(
    fc.property(seeds, times, fc.boolean(), fc.boolean(), (seed, ms, disk, servers) => {
      const planned = schedule(seed, ms, { disk, servers });
      expect(schedule(seed, ms, { disk, servers })).toEqual(planned);
      for (const fault of planned) {
        expect(fault.at).toBeLessThan(ms);
        if ('ms' in fault) expect(fault.at + fault.ms).toBeLessThanOrEqual(ms);
        if (!disk) expect(fault.kind).not.toBe('disk');
        if (!servers) expect(nameOf(fault)).not.toContain('tool-server');
        expect(inWords(fault)).toContain(nameOf(fault));
      }
    }),
    { numRuns: 50 },
  );
});

it('twenty minutes hold every victim, every link, a full disk, and more than sixty faults', () => {
  const planned = schedule(1, 20 * 60_000, { disk: true, servers: true });
  const names = planned.map(nameOf).join('\n');
  expect(planned.length).toBeGreaterThan(60);
  for (const victim of VICTIMS) expect(names).toContain(`kill ${victim}`);
  for (const link of LINKS) expect(names).toContain(`network ${link}`);
  for (const name of [
    'kill tool-server',
    'pause tool-server',
    'http trainer',
    'http endpoints',
    'disk full',
    'pause trainer',
  ])
    expect(names).toContain(name);
  expect(planned.some((fault) => fault.kind === 'pause' && fault.ms > 20_000)).toBe(true);
});
