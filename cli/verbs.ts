/** Every verb of the command: its name, one line, and where it is. A verb's file is loaded only when it is used. */
import type { Command } from 'commander';

export interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  /** Registers the verb (with options, help and action) on the program. */
  readonly load: () => Promise<(program: Command) => void>;
}

const STACK = 'The local stack';

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
];
