/**
 * The services of the real stack, and how each is started.
 *
 *   temporal ┐
 *   postgres ┤ (then migrations)
 *   trainer  ┼──► worker-pipeline, worker-sandbox-1 …, worker-gpu
 *   endpoints┘    (simulated user and judge)
 */
import { join } from 'node:path';
import { NAMESPACE } from '../../temporal.config.js';
import { hostName } from '../host-name.js';
import { sha256 } from '../setup/files.mjs';
import { ROOT } from '../setup/root.mjs';
import { externalDatabase, postgresService } from './database.js';
import { logFile, type StackInfo, type StopPlan, stackEnvironment } from './info.js';
import type { PassedOn } from './passed-on.js';
import type { PortName, Ports } from './ports.js';
import { answersOk, type Command, getText, launch, type Service, STACK_MARK } from './service.js';
import type { Plan } from './supervisor.js';
import { temporalService } from './temporal.js';
import { type Through, throughPorts } from './through.js';
import { type TorchTrainer, torchCommand } from './torch-trainer.js';
import { trainerCommand } from './trainer-command.js';

export type ServiceName = 'temporal' | 'postgres' | 'trainer' | 'endpoints';
export const SERVICES: readonly ServiceName[] = ['temporal', 'postgres', 'trainer', 'endpoints'];

export interface PlanOptions {
  readonly home: string;
  /** Which services to run; workers need all of them, or a trainer elsewhere. */
  readonly services: readonly ServiceName[];
  /** Worker processes by kind; none of a kind with 0. */
  readonly workers: { readonly pipeline: number; readonly sandbox: number; readonly gpu: number };
  /** Executables found before the supervisor was started. */
  readonly python: string;
  readonly temporal: string;
  /** Absent: the embedded trainer. */
  readonly torch?: TorchTrainer;
  /** Digest of `DATABASE_URL`, or null: we run our own. The address itself holds a password and stays in the environment. */
  readonly externalDatabase: string | null;
  /** For the workers. */
  readonly passedOn: PassedOn;
  /** Ports by which workers reach services; absent: the services' own. */
  readonly through?: Through;
  /** Digests of the code of workers and endpoints, and of the trainer: a change restarts them at the next `up`. */
  readonly code: { readonly typescript: string; readonly trainer: string };
}

/** Workers drain; then what they talk to. Postgres last, since a draining Temporal client may still report. */
const DRAIN: StopPlan = { signal: 'SIGTERM', graceMs: 10_000, order: 0 };
const END: StopPlan = { signal: 'SIGTERM', graceMs: 1_500, order: 1 };

const PORTS: Readonly<Record<string, readonly PortName[]>> = {
  temporal: ['temporal', 'temporalHttp', 'temporalUi'],
  postgres: ['postgres'],
  trainer: ['trainer'],
  endpoints: ['endpoints'],
};

export function portsOf(service: string): readonly PortName[] {
  return PORTS[service] ?? [];
}

export function planStack(options: PlanOptions, ports: Ports): Plan {
  const { home } = options;
  const database = { url: externalDatabase() ?? '' };
  const info = (): Omit<StackInfo, 'processes'> => ({
    temporal: {
      address: `127.0.0.1:${ports.temporal}`,
      ui: `http://127.0.0.1:${ports.temporalUi}`,
      namespace: NAMESPACE,
    },
    databaseUrl: database.url,
    trainerUrl: options.passedOn.STEADFAST_TRAINER_URL ?? `http://127.0.0.1:${ports.trainer}`,
    userUrl: options.passedOn.STEADFAST_USER_URL ?? `http://127.0.0.1:${ports.endpoints}/user/v1`,
    judgeUrl: options.passedOn.STEADFAST_JUDGE_URL ?? `http://127.0.0.1:${ports.endpoints}/judge/v1`,
    passedOn: options.passedOn,
    artifacts: join(home, 'artifacts'),
    home,
  });
  const environment = (): Record<string, string> => ({
    ...stackEnvironment({ ...info(), processes: [] }),
    [STACK_MARK]: home,
  });
  const context: PlanContext = { options, ports, environment };

  const makers: Record<ServiceName, () => Service> = {
    temporal: () =>
      temporalService({ executable: options.temporal, home, ports, mark: { [STACK_MARK]: home } }),
    postgres: () => postgresService({ home, ports, found: (url) => Object.assign(database, { url }) }),
    trainer: () => trainerService(context),
    endpoints: () => endpointsService(context),
  };
  const services = options.services
    .filter((name) => name !== 'postgres' || externalDatabase() === undefined)
    .map((name) => makers[name]());
  const workers = (['pipeline', 'sandbox', 'gpu'] as const).flatMap((kind) =>
    Array.from({ length: options.workers[kind] }, (_, index) => workerService(context, kind, index + 1)),
  );
  return { services: [...services, ...workers], info };
}

interface PlanContext {
  readonly options: PlanOptions;
  readonly ports: Ports;
  readonly environment: () => Record<string, string>;
}

function trainerService({ options, ports, environment }: PlanContext): Service {
  const command = (): Command => {
    const started = options.torch
      ? torchCommand(options.torch, ports.trainer, options.home)
      : trainerCommand(options.python, ports.trainer, options.home);
    return {
      ...started,
      env: { ...environment(), ...started.env },
      log: logFile(options.home, 'trainer'),
    };
  };
  return spawned('trainer', command, {
    ports: portsOf('trainer'),
    code: options.code.trainer,
    stop: END,
    healthy: () => answersOk(`http://127.0.0.1:${ports.trainer}/health`),
    // A model of some gigabytes is read, and its digest computed, before the trainer listens.
    ...(options.torch ? { startLimitMs: 15 * 60_000 } : {}),
  });
}

function endpointsService({ options, ports, environment }: PlanContext): Service {
  const command = (): Command => ({
    file: process.execPath,
    args: [join(ROOT, 'dist', 'suites', 'deskbench', 'endpoints', 'main.js')],
    cwd: ROOT,
    env: { ...environment(), PORT: String(ports.endpoints) },
    log: logFile(options.home, 'endpoints'),
  });
  return spawned('endpoints', command, {
    ports: portsOf('endpoints'),
    code: options.code.typescript,
    stop: END,
    healthy: async () => {
      const base = `http://127.0.0.1:${ports.endpoints}`;
      const both = await Promise.all([
        answersOk(`${base}/user/v1/models`),
        answersOk(`${base}/judge/v1/models`),
      ]);
      return both.every(Boolean);
    },
  });
}

/**
 * Whatever the shell says of workers elsewhere. Episodes get a moment to end, since somebody waits for `down`; then
 * they are cancelled, and what they hold is released: the longer clock above is for that.
 */
const OWN_WORKER = { STEADFAST_POOL: '', STEADFAST_DRAIN_SECONDS: '2' } as const;

type WorkerKind = keyof PlanOptions['workers'];

function workerService(context: PlanContext, kind: WorkerKind, number: number): Service {
  const { options, ports, environment } = context;
  const name = options.workers[kind] === 1 ? `worker-${kind}` : `worker-${kind}-${number}`;
  const command = (): Command => ({
    file: process.execPath,
    args: [join(ROOT, 'dist', 'workers', `${kind}.js`)],
    cwd: ROOT,
    env: {
      ...options.passedOn,
      ...throughPorts(environment(), options.through ?? {}),
      ...OWN_WORKER,
      STEADFAST_WORKERS_HERE: String(Math.max(1, options.workers.sandbox)),
    },
    log: logFile(options.home, name),
  });
  const host = hostName(options.passedOn);
  let polled = 0;
  return spawned(name, command, {
    ports: [],
    code: options.code.typescript,
    stop: DRAIN,
    needs: options.services,
    bury: async ({ pid }) => {
      const { giveBack } = await import('./give-back.js');
      const given = await giveBack(`127.0.0.1:${ports.temporal}`, `${host}:${pid}`);
      return given === 0 ? undefined : `${given} activities of process ${pid} given back to be run again`;
    },
    healthy: async ({ pid }) => {
      // Once it has polled, its being alive is enough: a full worker may not poll for a while.
      if (polled === pid) return true;
      const ready = await polls(ports.temporalHttp, kind, `${host}:${pid}`);
      if (ready) polled = pid;
      return ready;
    },
  });
}

/** True when the worker polls its queue: Temporal knows pollers by identity, here `host:pid`. */
async function polls(httpPort: number, queue: string, identity: string): Promise<boolean> {
  const base = `http://127.0.0.1:${httpPort}/api/v1/namespaces/${NAMESPACE}/task-queues/${queue}`;
  const types = ['TASK_QUEUE_TYPE_WORKFLOW', 'TASK_QUEUE_TYPE_ACTIVITY'];
  const answers = await Promise.all(types.map((type) => getText(`${base}?taskQueueType=${type}`)));
  return answers.some((text) => text?.includes(`"${identity}"`));
}

interface SpawnedOptions extends Pick<Service, 'ports' | 'stop' | 'healthy' | 'bury'> {
  readonly code: string;
  readonly needs?: readonly string[];
  readonly startLimitMs?: number;
}

function spawned(name: string, command: () => Command, options: SpawnedOptions): Service {
  const { ports, stop, healthy, bury, code, needs = [], startLimitMs = 120_000 } = options;
  return {
    name,
    needs,
    ports,
    stop,
    healthy,
    ...(bury ? { bury } : {}),
    log: command().log,
    startLimitMs,
    fingerprint: () => {
      const { file, args, env } = command();
      return sha256(file, ...args, JSON.stringify(env), code).slice(0, 16);
    },
    start: () => launch(command()),
  };
}
