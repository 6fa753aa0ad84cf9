/** All benchmarks, in the order in which they run: cheap ones first. */
import { batchBench } from './batch.js';
import { demoBench } from './demo.js';
import { dryRunBench } from './dry-run.js';
import type { Bench } from './figure.js';
import { interpretBench } from './interpret.js';
import { killBench } from './kill.js';
import { learningBench } from './learning.js';
import { ledgerBench, orchestrationBench } from './orchestration.js';
import { recoverBench } from './recover.js';
import { renderBench } from './render.js';
import { replayBench } from './replay.js';
import { resultsBench } from './results.js';
import { sandboxBench } from './sandbox.js';
import { sandboxLeaksBench } from './sandbox-leaks.js';
import { selectBench } from './select.js';
import { stepBench } from './step.js';
import { thinkingboxBench } from './thinkingbox.js';
import { thinkingboxAllBench } from './thinkingbox-all.js';

export const benches: readonly Bench[] = [
  interpretBench,
  renderBench,
  selectBench,
  resultsBench,
  batchBench,
  orchestrationBench,
  ledgerBench,
  stepBench,
  sandboxBench,
  thinkingboxBench,
  dryRunBench,
  killBench,
  recoverBench,
  sandboxLeaksBench,
  replayBench,
  demoBench,
  learningBench,
  thinkingboxAllBench,
];
