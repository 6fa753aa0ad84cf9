/**
 * Every default of the orchestration in one place: plain constants, importable by workflows
 * (so: no environment, no file system, no zod). Nothing redefines them.
 */

/** Task queues. GPU queues are per trainer host: `gpu` is the local one. */
export const QUEUES = { pipeline: 'pipeline', sandbox: 'sandbox', gpu: 'gpu' } as const;

export const NAMESPACE = 'default';

/** Budgets of a Temporal payload, bytes as JSON; a test measures them in a real history. */
export const PAYLOAD_BUDGET = { runEpisode: 512, other: 4096 } as const;
