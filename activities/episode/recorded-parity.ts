/**
 * Recorded episodes through today's program: outputs through the interpreter, prompts and deltas through the renderer.
 * Every difference says where it is; an artifact that cannot be read is one too, and the rest goes on.
 */
import type { ArtifactStore, Digest } from '../../core/artifacts.js';
import { Fault, UsageError } from '../../core/faults.js';
import type { OutputFormat } from '../../core/interpret/format.js';
import { Renderer } from '../../core/render/renderer.js';
import { decodeTokens } from '../../core/tokens.js';
import { bufferDifferences } from './buffer-differences.js';
import { parse, type Reading, readModelFiles, readTools } from './reading.js';
import type { Trajectory } from './trajectory.js';
import { formatOf, turnDifferences } from './turn-differences.js';

export interface ParityDifference {
  readonly key: string;
  /** From 1; null for what belongs to no turn. */
  readonly turn: number | null;
  readonly field: string;
  /** As recorded. */
  readonly expected: string;
  /** As today's program has it. */
  readonly found: string;
}

export interface ParityCounts {
  episodes: number;
  turns: number;
  /** Turns whose output is text and was read again. */
  read: number;
  calls: number;
  /** Prompts and deltas rendered again, and the tokens of the buffers that they are part of. */
  spans: number;
  tokens: number;
  differences: number;
  /** Episodes that lack what reading them again needs. */
  unchecked: number;
}

export interface RecordedEpisode {
  readonly key: string;
  readonly trajectory: Digest;
}

export interface ParityOptions {
  readonly artifacts: ArtifactStore;
  readonly onDifference: (difference: ParityDifference) => void;
  readonly onUnchecked: (key: string, reason: string) => void;
  /** The interpreter of a trajectory's outputs; today's when absent. */
  readonly format?: (trajectory: Trajectory) => OutputFormat | undefined;
  /** Called after each episode. */
  readonly onEpisode?: (counts: ParityCounts) => void;
}

/** Episodes that are read at once; what is bounded is memory. */
const AT_ONCE = 4;

const NOT_KEPT = 'recorded before tools and tokenizer were kept with an episode';

/** Throws `Fault('artifacts')` only when the store itself cannot be read. */
export async function checkRecorded(
  episodes: readonly RecordedEpisode[],
  options: ParityOptions,
): Promise<ParityCounts> {
  const counts: ParityCounts = {
    ...{ episodes: 0, turns: 0, read: 0, calls: 0, spans: 0, tokens: 0, differences: 0, unchecked: 0 },
  };
  const materials = new Materials(options.artifacts);
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let episode = episodes[next++]; episode; episode = episodes[next++]) {
      await checkEpisode(episode, materials, options, counts);
      counts.episodes += 1;
      options.onEpisode?.(counts);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return counts;
}

async function checkEpisode(
  { key, trajectory: digest }: RecordedEpisode,
  materials: Materials,
  options: ParityOptions,
  counts: ParityCounts,
): Promise<void> {
  const differs = (turn: number | null, field: string, expected: string, found: string) => {
    counts.differences += 1;
    options.onDifference({ key, turn, field, expected, found });
  };
  try {
    const { artifacts } = options;
    const trajectory = parse(artifacts, digest, await artifacts.get(digest)) as Trajectory;
    const { reading, tokens } = trajectory;
    counts.turns += trajectory.turns.length;
    if (tokens !== null && !reading) {
      counts.unchecked += 1;
      options.onUnchecked(key, NOT_KEPT);
      return;
    }
    const tools = reading ? await materials.tools(reading) : [];
    const format = (options.format ?? formatOf)(trajectory);
    const { read, differences } = turnDifferences(trajectory, tools, format);
    counts.read += read.size;
    for (const { message } of read.values()) counts.calls += message.toolCalls.length;
    for (const { turn, field, recorded, today } of differences) differs(turn + 1, field, recorded, today);
    if (!reading || tokens === null) return;
    const buffer = decodeTokens(await artifacts.get(tokens));
    const checked = bufferDifferences(trajectory, buffer, await materials.renderer(reading), tools);
    counts.spans += checked.spans;
    counts.tokens += checked.tokens;
    for (const { turn, field, recorded, today } of checked.differences)
      differs(turn + 1, field, recorded, today);
  } catch (error) {
    // A format or a template that is not known today, or an artifact that is gone: said, and the rest is looked at.
    if (error instanceof UsageError) differs(null, error.place, error.found, error.expected);
    else if (error instanceof Fault && error.kind === 'artifacts' && !error.retry)
      differs(null, 'artifact', 'the recorded bytes', error.message);
    else throw error;
  }
}

/** Tools and renderers by digest: many episodes share them. */
class Materials {
  private readonly toolLists = new Map<Digest, ReturnType<typeof readTools>>();
  private readonly renderers = new Map<Digest, Promise<Renderer>>();

  constructor(private readonly artifacts: ArtifactStore) {}

  tools({ tools }: Reading): ReturnType<typeof readTools> {
    return remembered(this.toolLists, tools, () => readTools(this.artifacts, tools));
  }

  renderer({ modelFiles }: Reading): Promise<Renderer> {
    return remembered(
      this.renderers,
      modelFiles,
      async () => new Renderer(await readModelFiles(this.artifacts, modelFiles)),
    );
  }
}

function remembered<T>(cache: Map<Digest, T>, digest: Digest, make: () => T): T {
  const known = cache.get(digest) ?? make();
  cache.set(digest, known);
  return known;
}
