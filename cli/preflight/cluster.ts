/** All hosts of a run, asked at the same time: what each is and has, and what each sees of a folder that all should share. */
import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { packSettings } from '../../activities/host/compose.js';
import type {
  CheckpointsFound,
  ComposedVerl,
  HostFacts,
  HostQuestion,
  HostQuestions,
  ProbeFile,
  ProbeSight,
} from '../../core/cluster.js';
import type { VerlConfig } from '../../core/trainers/config.js';
import { hostQueue, QUEUES } from '../../temporal.config.js';
import { askHost, HostSilent, isPolled } from './ask.js';
import { modelTokens } from './model-tokens.js';

/** How far a host's clock is ahead of ours, ms: somewhere between the two. Waiting makes them wider, never wrong. */
export interface ClockBounds {
  readonly least: number;
  readonly most: number;
}

export interface ClusterAnswers {
  readonly facts: ReadonlyMap<string, HostFacts>;
  readonly clocks: ReadonlyMap<string, ClockBounds>;
  /** Why a host said nothing. */
  readonly silent: ReadonlyMap<string, string>;
  /** By reading host, then by writing host. */
  readonly sights: ReadonlyMap<string, ProbeSight>;
  /** Why a host could not write its file. */
  readonly unwritten: ReadonlyMap<string, string>;
  /** As the first host that answers sees them; undefined: none does. */
  readonly checkpoints: CheckpointsFound | undefined;
  /** By the first host that answers and has a Python; words: why it could not be asked. */
  readonly composed: ComposedVerl | string | undefined;
}

export const NO_WORKFLOWS = 'no worker polls the queue of the workflows that ask';

export interface ClusterRun {
  /** Name of the run. */
  readonly run: string;
  readonly trainer: VerlConfig;
  /** Settings of Verl, as arguments of its command line. */
  readonly settings: readonly string[];
}

/** Starts no part of a run: each question is a small workflow of its own. Throws where Temporal does not answer. */
export async function askCluster(
  client: Client,
  { run, trainer, settings }: ClusterRun,
): Promise<ClusterAnswers> {
  const silent = new Map<string, string>();
  const names = [...new Set(trainer.hosts.map(({ name }) => name))];
  const asked = await polledHosts(client, names, silent);
  const ask = async <T>(question: HostQuestion): Promise<T | HostSilent> => {
    try {
      return await askHost<T>(client, run, question);
    } catch (error) {
      if (error instanceof HostSilent) return error;
      throw error;
    }
  };

  const questions = questionsOf(trainer);
  const answers = await Promise.all(
    asked.map(async (host) => {
      const before = Date.now();
      const answer = await ask<HostFacts>({ host, activity: 'hostFacts', args: [questions] });
      return { host, answer, before, after: Date.now() };
    }),
  );
  // In the order of the run file, whoever was first to answer: the same cluster gives the same words.
  const facts = new Map<string, HostFacts>();
  const clocks = new Map<string, ClockBounds>();
  for (const { host, answer, before, after } of answers) {
    if (answer instanceof HostSilent) silent.set(host, answer.message);
    else {
      facts.set(host, answer);
      clocks.set(host, { least: answer.endedAt - after, most: answer.startedAt - before });
    }
  }
  const answering = [...facts.keys()];
  const [first] = answering;
  const listed =
    first === undefined
      ? undefined
      : await ask<CheckpointsFound>({
          host: first,
          activity: 'listCheckpoints',
          args: [trainer.checkpoints],
        });
  const able = [...facts].find(([, { pythonProblem }]) => pythonProblem === null)?.[0];
  const composed =
    able === undefined
      ? undefined
      : await ask<ComposedVerl>({
          host: able,
          activity: 'composeVerl',
          args: [trainer.python, packSettings(settings)],
        });
  return {
    facts,
    clocks,
    silent,
    composed: composed instanceof HostSilent ? composed.message : composed,
    ...(await proveShared(ask, answering, trainer.checkpoints)),
    checkpoints: listed instanceof HostSilent ? undefined : listed,
  };
}

async function polledHosts(
  client: Client,
  names: readonly string[],
  silent: Map<string, string>,
): Promise<readonly string[]> {
  const [workflows, ...hosts] = await Promise.all([
    isPolled(client, QUEUES.pipeline, 'workflows'),
    ...names.map((name) => isPolled(client, hostQueue(name), 'activities')),
  ]);
  for (const [index, name] of names.entries()) {
    if (!hosts[index]) silent.set(name, `no worker polls its queue, ${hostQueue(name)}`);
    else if (!workflows) silent.set(name, NO_WORKFLOWS);
  }
  return names.filter((name) => !silent.has(name));
}

/** Written down with the run, whether or not they are pinned. */
const RECORDED = ['torch', 'transformers', 'ray', 'flash-attn', 'hydra-core', 'numpy'];

/** What the checks want to know of each host. */
function questionsOf({
  python,
  pins,
  checkpoints,
  data,
  agentLoop,
  reward,
  model,
  format,
}: VerlConfig): HostQuestions {
  return {
    python,
    packages: [...new Set([...Object.keys(pins.packages), ...RECORDED])],
    files: pins.files.map(({ file }) => file),
    folders: [checkpoints],
    inputs: [...new Set([data.train, data.validation, agentLoop.config, ...(reward ? [reward.file] : [])])],
    dataSets: [...new Set([data.train, data.validation])],
    model: { folder: model, tokens: modelTokens(format) },
  };
}

type Ask = <T>(question: HostQuestion) => Promise<T | HostSilent>;

/** Every host writes, then every host reads what all others wrote, then every host tidies up. */
async function proveShared(ask: Ask, hosts: readonly string[], folder: string) {
  const mark = randomBytes(6).toString('hex');
  const nameOf = (host: string): string => `${host}-${mark}`;
  const writes = await Promise.all(
    hosts.map(async (host) => {
      const args = [folder, nameOf(host)];
      return [host, await ask<ProbeFile>({ host, activity: 'writeProbe', args })] as const;
    }),
  );
  const written = new Map(
    writes.flatMap(([host, file]) => (file instanceof HostSilent ? [] : [[host, file]])),
  );
  const unwritten = new Map(
    writes.flatMap(([host, file]) => (file instanceof HostSilent ? [[host, file.message]] : [])),
  );
  const reads = await Promise.all(
    hosts.map(async (host): Promise<[string, ProbeSight]> => {
      const others = [...written].filter(([writer]) => writer !== host);
      if (others.length === 0) return [host, {}];
      const args = [folder, others.map(([, file]) => file)];
      const answer = await ask<ProbeSight>({ host, activity: 'readProbe', args });
      const sight = others.map(([writer]) => [
        writer,
        answer instanceof HostSilent ? answer.message : (answer[nameOf(writer)] ?? 'no answer'),
      ]);
      return [host, Object.fromEntries(sight)];
    }),
  );
  await Promise.all(
    [...written].map(([host, { name }]) =>
      ask<void>({ host, activity: 'removeProbe', args: [folder, name] }),
    ),
  );
  return { sights: new Map(reads), unwritten };
}
