/** The artifacts of one try: a JSON document for people and checks, and the exact tokens for training. */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import type { Fault, FaultRecord } from '../../core/faults.js';
import type { Message } from '../../core/message.js';
import type { Termination, Usage, Verdict } from '../../core/outcome.js';
import type { Sampling } from '../../core/policy.js';
import { hideInError } from '../../core/secrets.js';
import type { Effects, TaskRef } from '../../core/suite.js';
import { encodeTokens } from '../../core/tokens.js';
import type { EpisodeInput } from './input.js';
import type { PlayedEpisode } from './play.js';
import { type PolicyReading, type Reading, storeReading } from './reading.js';
import type { TurnRecord } from './record.js';

/** The JSON document (`docs/contracts.md`). Exactly one of `verdict` and `fault` is set. */
export interface Trajectory {
  readonly format: 1;
  readonly key: string;
  readonly task: TaskRef;
  readonly seed: string;
  readonly sampling: Sampling;
  readonly weightVersion: Digest | null;
  readonly messages: readonly Message[];
  readonly turns: readonly TurnRecord[];
  readonly termination: Termination | null;
  readonly verdict: Verdict | null;
  readonly fault: FaultRecord | null;
  readonly effects: Effects | null;
  readonly expected: Effects | null;
  readonly usage: Usage;
  /** How long requests waited for the limits of their providers, ms; no part of the episode's clock. Absent: not at all. */
  readonly waitedMs?: number;
  /** Digest of the token record; null for policies without one. */
  readonly tokens: Digest | null;
  /** Of policies that sample tokens; absent in documents from before it was kept. */
  readonly reading?: Reading;
}

/** Writes both files, and what the policy's outputs were read with. Throws `Fault('artifacts')`. */
export async function storeTrajectory(
  artifacts: ArtifactStore,
  input: EpisodeInput,
  task: TaskRef,
  played: PlayedEpisode,
  reading?: PolicyReading,
): Promise<Digest> {
  const { record, clean, fault } = played;
  const tokens = record.tokens ? await artifacts.put(encodeTokens(record.tokens)) : null;
  const document: Trajectory = {
    format: 1,
    key: input.key,
    task,
    seed: input.seed,
    sampling: input.sampling,
    weightVersion: record.weightVersion,
    messages: record.messages,
    turns: record.turns,
    termination: record.termination,
    verdict: clean?.verdict ?? null,
    fault: fault ? describeFault(fault) : null,
    effects: record.effects,
    expected: record.expected,
    usage: record.usage,
    ...(record.waitedMs > 0 ? { waitedMs: record.waitedMs } : {}),
    tokens,
    ...(reading && tokens !== null ? { reading: await storeReading(artifacts, reading, record.tools) } : {}),
  };
  return artifacts.put(new TextEncoder().encode(JSON.stringify(document)));
}

/** A fault as rows and documents keep it; the trace is of the error that caused it, where there is one. */
export function describeFault(fault: Fault): FaultRecord {
  hideInError(fault);
  const origin = fault.cause instanceof Error ? fault.cause : fault;
  return {
    kind: fault.kind,
    code: fault.code ?? null,
    message: fault.message,
    stack: origin.stack ?? null,
    duringToolCall: fault.duringToolCall,
  };
}
