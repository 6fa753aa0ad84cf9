/** Every verb of the command: its name, one line, and where it is. A verb's file is loaded only when it is used. */
import type { Command } from 'commander';
import { openStack } from './context.js';
import { programVersion } from './version.js';

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  /** Registers the verb (with options, help and action) on the program. */
  readonly load: () => Promise<(program: Command) => void>;
}

const STACK = 'The local stack';
const STAGES = 'Stages of a run';

export const VERBS: readonly Verb[] = [
  {
    name: 'up',
    summary: 'start the local stack: Temporal, PostgreSQL, trainer, endpoints, workers',
    group: STACK,
    load: async () => (await import('./up.js')).registerUp,
  },
  {
    name: 'down',
    summary: 'stop every process of the local stack',
    group: STACK,
    load: async () => (await import('./down.js')).registerDown,
  },
  {
    name: 'doctor',
    summary: 'say what is missing, with the exact fix',
    group: STACK,
    load: async () => (await import('./doctor.js')).registerDoctor,
  },
  {
    name: 'select',
    summary: 'choose a training pool from probe rows',
    group: STAGES,
    load: async () => {
      const { registerSelect } = await import('./select.js');
      return (program) =>
        registerSelect(program, {
          programVersion: programVersion(),
          loadLedger: async () => {
            const context = openStack();
            return { ledger: await context.ledger(), close: context.close };
          },
          out: (text) => process.stdout.write(text),
          err: (text) => process.stderr.write(text),
        });
    },
  },
];
