import { defineConfig } from 'vitest/config';
import { testFiles } from './test/kinds.js';
import SlowestFirst from './test/slowest-first.js';

const { sharing, alone } = testFiles();

const every = {
  // What a command prints is compared as text; CI=true would colour it.
  env: { NO_COLOR: '1' },
  // Against hangs alone: what took 5 s has been seen to take a minute on a machine whose load average was 50.
  testTimeout: 180_000,
  hookTimeout: 240_000,
};

export default defineConfig({
  test: {
    // They do not extend this: the global set-up would run for each.
    projects: [
      { test: { ...every, name: 'alone', include: alone } },
      { test: { ...every, name: 'sharing', include: sharing, isolate: false } },
    ],
    globalSetup: ['test/build-once.ts', 'test/shared-postgres.ts'],
    reporters: ['default', './test/closing-line.ts'],
    // Tests that start real servers share two cores with them, and wait for them half of the time.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
  },
});
