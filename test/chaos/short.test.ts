/** Three quarters of a minute of chaos, the same faults every time. `npm run chaos` is the long one (docs/chaos.md). */
import { expect, it } from 'vitest';
import { chaos } from './chaos.js';

it('a run that is killed, stopped and cut off all the time ends like one that was left alone', async () => {
  const lines: string[] = [];
  const result = await chaos({ ms: 45_000, seed: 2, say: (line) => lines.push(line) });
  expect(result.broken, lines.join('\n')).toEqual([]);
  expect(result.faults.met).toBeGreaterThan(4);
  expect(result.watched.rows).toBeGreaterThan(0);
}, 480_000);
