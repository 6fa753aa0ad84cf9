/** Runs the Temporal workers of a process until it is told to stop; SIGTERM and SIGINT drain them. */
import {
  NativeConnection,
  type NativeConnectionOptions,
  Runtime,
  Worker,
  type WorkerOptions,
} from '@temporalio/worker';
import { UsageError } from '../core/faults.js';
import { refusedBy, refusedCertificate, tlsProblem } from '../infra/temporal-refusal.js';
import { DRAIN_MS, HEARTBEAT, UNANSWERED_MS } from '../temporal.config.js';
import type { WorkerEnvironment } from './environment.js';
import { hidingSecrets } from './hiding-secrets.js';
import { tell, workerLogger } from './log.js';
import { counting, metricsOptions } from './metrics.js';
import { drainBy } from './stop-signals.js';

const CONNECT_EVERY_MS = 500;

type QueueOptions = Omit<WorkerOptions, 'connection' | 'namespace' | 'identity'>;

/** One worker a queue; a queue may have a grace of its own. Resolves when all have drained. Rejects when one fails; the supervisor starts the process again. */
export async function runWorker(
  environment: Pick<
    WorkerEnvironment,
    'temporalAddress' | 'temporalAccess' | 'namespace' | 'identity' | 'drainMs' | 'metricsAddress'
  >,
  ...queues: readonly QueueOptions[]
): Promise<void> {
  installRuntime(environment.metricsAddress);
  const count = counting();
  const connection = await connect({ ...environment.temporalAccess, address: environment.temporalAddress });
  try {
    const workers: Worker[] = [];
    const graceMs = environment.drainMs ?? DRAIN_MS;
    const stop = () => {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    };
    for (const options of queues) {
      workers.push(
        await Worker.create({
          shutdownGraceTime: graceMs,
          // By itself it holds beats back for 0.8 of the time-out: a stop would be heard of up to 16 s late, and a beat
          // that then is late by 4 s on a busy machine would run the activity again.
          maxHeartbeatThrottleInterval: HEARTBEAT.everyMs,
          ...options,
          interceptors: {
            ...options.interceptors,
            activity: [count, hidingSecrets, ...(options.interceptors?.activity ?? [])],
          },
          connection,
          namespace: environment.namespace,
          identity: environment.identity,
        }),
      );
    }
    drainBy((signal) => {
      tell(`${signal}: takes no more work; what is under way has ${graceMs / 1_000} s`);
      stop();
      // The SDK would wait for as long as Temporal does not answer.
      setTimeout(() => {
        tell('Temporal does not answer: ends without it; what was under way runs again elsewhere');
        process.exit(1);
      }, graceMs + UNANSWERED_MS).unref();
    });
    for (const { taskQueue } of queues)
      process.stdout.write(`worker of queue ${taskQueue} ready, process ${process.pid}\n`);
    await Promise.all(workers.map((worker) => worker.run().finally(stop)));
  } finally {
    await connection.close();
  }
}

/** Throws `UsageError` for an address that cannot be listened on. */
function installRuntime(metricsAddress: string | undefined): void {
  const common = { logger: workerLogger('WARN'), shutdownSignals: [] };
  if (metricsAddress === undefined) {
    Runtime.install(common);
    return;
  }
  try {
    Runtime.install({ ...common, telemetryOptions: { metrics: metricsOptions(metricsAddress) } });
  } catch (error) {
    throw new UsageError('STEADFAST_METRICS_ADDRESS', `to listen on ${metricsAddress}`, String(error));
  }
}

/** Temporal may be starting, or be down for a moment: asks until it answers. Throws `UsageError` when it refuses us. */
async function connect(options: NativeConnectionOptions): Promise<NativeConnection> {
  for (let told = false; ; ) {
    try {
      return await NativeConnection.connect(options);
    } catch (error) {
      const { address = '', tls } = options;
      const refusal = refusedBy(address, error);
      if (refusal) throw refusal;
      const problem = told ? undefined : await tlsProblem(address, tls ?? undefined);
      if (problem !== undefined) throw refusedCertificate(address, problem);
      if (!told) tell(`waiting for Temporal at ${options.address}: ${String(error)}`);
      told = true;
      await new Promise((resolve) => setTimeout(resolve, CONNECT_EVERY_MS));
    }
  }
}
