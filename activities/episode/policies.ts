/** The policy of an episode, from its campaign's model. What is slow to make is made once per process. */
import type { ModelRef } from '../../core/campaign.js';
import { withDeadline } from '../../core/deadline.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { ParityReport } from '../../core/parity.js';
import type { Policy } from '../../core/policy.js';
import { Renderer } from '../../core/render/renderer.js';
import type { ScriptedSettings } from '../../core/scripted.js';
import { createChatPolicy } from '../policy/chat-policy.js';
import type { Endpoint } from '../policy/endpoint.js';
import { checkParity } from '../policy/parity.js';
import { createTokenPolicy } from '../policy/token-policy.js';
import { contextTokens, fetchModelFiles } from '../policy/trainer-files.js';
import type { EpisodeInput } from './input.js';
import type { PolicyReading } from './reading.js';

const DESCRIBE_MS = 30_000;
/** Of the models that the trainer serves. */
const FORMAT = 'qwen3_xml';

export interface PolicySources {
  /** Base URL of the trainer's token endpoint, ending in `/v1`. */
  readonly trainerUrl: string;
  /** The scripted policy of a suite. Throws `UsageError` for a suite that has none. */
  readonly scripted: (suite: string, settings: ScriptedSettings) => Promise<Policy>;
}

export class Policies {
  private served: Promise<ServedModel> | undefined;
  private readonly scripted = new Map<string, Promise<Policy>>();

  constructor(private readonly sources: PolicySources) {}

  /** Throws `Fault('policy')` when the endpoint does not hand out its tokenizer. */
  async of(
    { model, suite, weightVersion }: Pick<EpisodeInput, 'model' | 'suite' | 'weightVersion'>,
    signal: AbortSignal,
  ): Promise<Policy> {
    if (model.kind === 'chat') {
      const { baseUrl, model: name, apiKeyEnv, stream = 'auto', idleMs } = model;
      const endpoint: Endpoint = { kind: 'policy', baseUrl, model: name, apiKeyEnv, stream };
      return createChatPolicy(idleMs === undefined ? endpoint : { ...endpoint, idleMs });
    }
    if (model.kind === 'scripted') {
      const { errorRate, turnDelayMs } = model;
      const id = JSON.stringify([suite, errorRate, turnDelayMs]);
      return kept(this.scripted, id, () => this.sources.scripted(suite, { errorRate, turnDelayMs }));
    }
    const { trainerUrl } = this.sources;
    const weights = { model: weightVersion ?? '', apiKeyEnv: null };
    return createTokenPolicy({
      endpoint: { kind: 'policy', baseUrl: trainerUrl, ...weights, stream: 'auto' },
      ...(await this.trainerModel(signal)),
      format: outputFormat(FORMAT),
    });
  }

  /** What the outputs of the policy are read with; undefined where none are sampled as tokens. */
  async reading(
    { model }: Pick<EpisodeInput, 'model'>,
    signal: AbortSignal,
  ): Promise<PolicyReading | undefined> {
    if (model.kind !== 'trainer') return undefined;
    return { format: FORMAT, files: (await this.trainerModel(signal)).renderer.files };
  }

  /**
   * Proof that the model's endpoint reads text as we do. Throws `UsageError` that shows both sides. Null where nobody
   * asks: for a model that samples no tokens, or whose configuration says so.
   */
  async parity(model: ModelRef, signal: AbortSignal): Promise<ParityReport | null> {
    if (model.kind !== 'trainer') return null;
    const endpoint: Endpoint = {
      kind: 'policy',
      baseUrl: this.sources.trainerUrl,
      model: '',
      apiKeyEnv: null,
    };
    return checkParity(endpoint, (await this.trainerModel(signal)).renderer, signal);
  }

  /** Tokenizer and context belong to the model family: a trainer that is started again has the same. */
  private async trainerModel(signal: AbortSignal): Promise<ServedModel> {
    if (!this.served) {
      const asking = describe(this.sources.trainerUrl);
      this.served = asking;
      // What fails is asked for again by the next episode.
      asking.catch(() => {
        if (this.served === asking) this.served = undefined;
      });
    }
    const { served } = this;
    return withDeadline(signal, { ms: DESCRIBE_MS, what: "the trainer's tokenizer" }, () => served);
  }
}

interface ServedModel {
  readonly renderer: Renderer;
  readonly contextTokens: number;
}

/** Many episodes wait for one answer, so none of their signals ends it. */
async function describe(url: string): Promise<ServedModel> {
  const signal = AbortSignal.timeout(DESCRIBE_MS);
  const [files, context] = await Promise.all([fetchModelFiles(url, signal), contextTokens(url, signal)]);
  return { renderer: new Renderer(files), contextTokens: context };
}

/** What fails is not kept. */
function kept<T>(cache: Map<string, Promise<T>>, id: string, make: () => Promise<T>): Promise<T> {
  let value = cache.get(id);
  if (!value) {
    value = make();
    cache.set(id, value);
    value.catch(() => cache.delete(id));
  }
  return value;
}
