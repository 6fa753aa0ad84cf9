/** The policy of an episode, from its campaign's model. What is slow to make is made once per process. */
import type { ArtifactStore } from '../../core/artifacts.js';
import type { ModelRef, ServedModelRef, TokenModelRef } from '../../core/campaign.js';
import { withDeadline } from '../../core/deadline.js';
import { Fault } from '../../core/faults.js';
import type { OutputFormat } from '../../core/interpret/format.js';
import { outputFormat } from '../../core/interpret/interpret.js';
import type { ParityReport } from '../../core/parity.js';
import type { Policy } from '../../core/policy.js';
import { Renderer } from '../../core/render/renderer.js';
import type { ScriptedSettings } from '../../core/scripted.js';
import { createChatPolicy } from '../policy/chat-policy.js';
import { type Endpoint, providerOf } from '../policy/endpoint.js';
import { checkParity } from '../policy/parity.js';
import type { Gate } from '../policy/rate-gate.js';
import { createTokenPolicy } from '../policy/token-policy.js';
import { contextTokens, fetchTrainerModel, servedContext } from '../policy/trainer-files.js';
import type { EpisodeInput } from './input.js';
import { type PolicyReading, readModelFiles } from './reading.js';

const DESCRIBE_MS = 30_000;
/** Of the models of a trainer that does not say theirs. */
const TRAINER_FORMAT = 'qwen3_xml';

export interface PolicySources {
  /** Base URL of the trainer's token endpoint, ending in `/v1`. */
  readonly trainerUrl: string;
  /** The scripted policy of a suite. Throws `UsageError` for a suite that has none. */
  readonly scripted: (suite: string, settings: ScriptedSettings) => Promise<Policy>;
  /** Where requests to a provider wait for its limits; absent: nowhere. */
  readonly gate?: (provider: string) => Gate;
  /** Where the tokenizers of token endpoints other than the trainer lie. */
  readonly artifacts?: ArtifactStore;
  /** Where weights are served now by a server of ours; undefined: nowhere. */
  readonly served?: (weightVersion: string) => Promise<ServedAt | undefined>;
}

export interface ServedAt {
  /** OpenAI base URL, ending in `/v1`. */
  readonly endpoint: string;
  /** Artifact with the tokenizer files of the folder that it serves. */
  readonly modelFiles: string;
}

type Sampling = ModelRef & { readonly kind: 'trainer' | 'token' | 'served' };
type Outside = ModelRef & { readonly kind: 'chat' | 'token' };

export class Policies {
  private readonly served = new Map<string, Promise<ServedModel>>();
  private readonly scripted = new Map<string, Promise<Policy>>();

  constructor(private readonly sources: PolicySources) {}

  /** Throws `Fault('policy')` when the endpoint does not say what is needed of it. */
  async of(
    { model, suite, weightVersion }: Pick<EpisodeInput, 'model' | 'suite' | 'weightVersion'>,
    signal: AbortSignal,
  ): Promise<Policy> {
    if (model.kind === 'chat') return createChatPolicy(this.gated(model));
    if (model.kind === 'scripted') {
      const { errorRate, turnDelayMs } = model;
      const id = JSON.stringify([suite, errorRate, turnDelayMs]);
      return kept(this.scripted, id, () => this.sources.scripted(suite, { errorRate, turnDelayMs }));
    }
    const { endpoint, describe } = await this.sampled(model, weightVersion ?? '');
    return createTokenPolicy({ endpoint, ...(await this.describe(describe, signal)) });
  }

  /** What the outputs of the policy are read with; undefined where none are sampled as tokens. */
  async reading(
    {
      model,
      weightVersion = null,
    }: Pick<EpisodeInput, 'model'> & Partial<Pick<EpisodeInput, 'weightVersion'>>,
    signal: AbortSignal,
  ): Promise<PolicyReading | undefined> {
    if (!samples(model)) return undefined;
    const { describe } = await this.sampled(model, weightVersion ?? '');
    const { format, renderer } = await this.describe(describe, signal);
    return { format: format.name, files: renderer.files };
  }

  /**
   * Proof that the model's endpoint reads text as we do. Throws `UsageError` that shows both sides. Null where nobody
   * asks: for a model that samples no tokens, or whose configuration says so.
   */
  async parity(model: ModelRef, signal: AbortSignal, weightVersion = ''): Promise<ParityReport | null> {
    if (!samples(model)) return null;
    if (model.kind === 'token' && model.parity === 'skipped') return null;
    const { endpoint, describe } = await this.sampled(model, weightVersion);
    return checkParity(endpoint, (await this.describe(describe, signal)).renderer, signal);
  }

  /** Our own trainer has no limits; every other endpoint may. */
  private gated(model: Outside): Endpoint {
    const { gate } = this.sources;
    const endpoint = endpointOf(model);
    return gate ? { ...endpoint, gate: gate(model.provider ?? providerOf(model.baseUrl)) } : endpoint;
  }

  private async sampled(model: Sampling, weightVersion: string): Promise<Sampled> {
    if (model.kind === 'token') return { endpoint: this.gated(model), describe: model };
    if (model.kind === 'trainer')
      return { endpoint: ownEndpoint(this.sources.trainerUrl, weightVersion), describe: model };
    const at = await this.sources.served?.(weightVersion);
    if (!at) {
      const message = `no server has the weights ${weightVersion || 'of the checkpoint'} now`;
      throw new Fault('policy', message, { code: 'weights_unavailable' });
    }
    return { endpoint: ownEndpoint(at.endpoint, weightVersion), describe: asToken(model, at, weightVersion) };
  }

  /** Tokenizer and context belong to the model family: a trainer that is started again has the same. */
  private async describe(model: Described, signal: AbortSignal): Promise<ServedModel> {
    const id = model.kind === 'trainer' ? 'trainer' : JSON.stringify(model);
    // What fails is asked for again by the next episode.
    const served = kept(this.served, id, () =>
      model.kind === 'trainer'
        ? describeTrainer(this.sources.trainerUrl)
        : describeToken(model, this.sources.artifacts),
    );
    return withDeadline(signal, { ms: DESCRIBE_MS, what: "the model's tokenizer" }, () => served);
  }
}

type Described = ModelRef & { readonly kind: 'trainer' | 'token' };

interface Sampled {
  readonly endpoint: Endpoint;
  /** What tokenizer and context are asked of. */
  readonly describe: Described;
}

function samples(model: ModelRef): model is Sampling {
  return model.kind === 'trainer' || model.kind === 'token' || model.kind === 'served';
}

/** Of a server of ours: it has no limits and needs no key. */
function ownEndpoint(baseUrl: string, weightVersion: string): Endpoint {
  return { kind: 'policy', baseUrl, model: weightVersion, apiKeyEnv: null, stream: 'auto' };
}

/** A server of ours is a token endpoint like any other, once it is known where it is. */
function asToken(model: ServedModelRef, at: ServedAt, weightVersion: string): TokenModelRef {
  const { format, templateOptions } = model;
  return {
    ...{ kind: 'token', baseUrl: at.endpoint, model: weightVersion, apiKeyEnv: null },
    ...{ format, tokenizer: at.modelFiles, templateOptions },
  };
}

interface ServedModel {
  readonly renderer: Renderer;
  readonly contextTokens: number;
  readonly format: OutputFormat;
}

function endpointOf(model: Outside): Endpoint {
  const { baseUrl, model: name, apiKeyEnv, stream = 'auto', idleMs } = model;
  const endpoint: Endpoint = { kind: 'policy', baseUrl, model: name, apiKeyEnv, stream };
  return idleMs === undefined ? endpoint : { ...endpoint, idleMs };
}

/** Many episodes wait for one answer, so none of their signals ends it; each request has a clock of its own. */
async function describeTrainer(url: string): Promise<ServedModel> {
  const { signal } = new AbortController();
  const [model, context] = await Promise.all([fetchTrainerModel(url, signal), contextTokens(url, signal)]);
  const format = outputFormat(model.format ?? TRAINER_FORMAT, `the trainer's format`);
  return { renderer: new Renderer(model.files), contextTokens: context, format };
}

async function describeToken(
  model: TokenModelRef,
  artifacts: ArtifactStore | undefined,
): Promise<ServedModel> {
  if (!artifacts) throw new Fault('policy', 'no artifacts to read a tokenizer from', { retry: false });
  const [files, context] = await Promise.all([
    readModelFiles(artifacts, model.tokenizer),
    servedContext(endpointOf(model), new AbortController().signal),
  ]);
  const { templateOptions } = model;
  const renderer = new Renderer({ ...files, ...(templateOptions ? { templateOptions } : {}) });
  return { renderer, contextTokens: context, format: outputFormat(model.format) };
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
