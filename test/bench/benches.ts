/** All benchmarks, in the order in which they run: cheap ones first. */
import { demoBench } from './demo.js';
import type { Bench } from './figure.js';
import { interpretBench } from './interpret.js';
import { killBench } from './kill.js';
import { learningBench } from './learning.js';
import { ledgerBench, orchestrationBench } from './orchestration.js';
import { selectBench } from './select.js';
import { stepBench } from './step.js';

export const benches: readonly Bench[] = [
  interpretBench,
  selectBench,
  orchestrationBench,
  ledgerBench,
  stepBench,
  killBench,
  demoBench,
  learningBench,
];
