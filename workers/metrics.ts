/**
 * What a worker counts for Prometheus, beside what Temporal's SDK counts: both are read at one address
 * (`STEADFAST_METRICS_ADDRESS`, docs/deployment.md). Without one nothing is kept.
 *
 * Labels are from small closed sets: no campaign, no task, no text of an endpoint.
 */
import type { Context } from '@temporalio/activity';
import type { MetricMeter, MetricTags } from '@temporalio/common';
import { type ActivityInterceptorsFactory, Runtime } from '@temporalio/worker';
import type { EpisodeSummary } from '../core/outcome.js';
import type { SandboxDriver } from '../core/sandbox.js';

const SECONDS = [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800, 7_200];

/** Every metric of ours. A test holds docs/deployment.md against it. */
export const METRICS = {
  steadfast_activities_in_flight: 'activities that this worker is doing now, by activity',
  steadfast_queue_wait_seconds: 'from when an activity could be taken up until it was, by activity',
  steadfast_activity_seconds: 'how long activities took, by activity and result (an update: applyUpdate)',
  steadfast_episodes: 'ended episodes by outcome: passed, failed, system_error, reused, stopped',
  steadfast_system_errors: 'episodes that ended as system errors, by fault',
  steadfast_sampled_tokens: 'tokens that the policy sampled in ended episodes',
  steadfast_sandbox_starts: 'sandboxes that were started, by isolation, result and whether one was waiting',
  steadfast_sandbox_start_seconds: 'how long that took, by isolation',
  steadfast_idle_run_seconds:
    'of running training runs, seconds since the steps of one last moved on; the longest',
} as const;

type Name = keyof typeof METRICS;

/** For Temporal's runtime: the exporter of both. */
export function metricsOptions(bindAddress: string) {
  const ours = Object.keys(METRICS).filter((name) => name.endsWith('_seconds'));
  return {
    prometheus: {
      bindAddress,
      countersTotalSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: Object.fromEntries(ours.map((name) => [name, SECONDS])),
    },
  };
}

/** The runtime's meter, which keeps nothing where no address was given. Call it after `Runtime.install`. */
const meter = (): MetricMeter => Runtime.instance().metricMeter;

function add(name: Name, value: number, tags: MetricTags): void {
  meter().createCounter(name, undefined, METRICS[name]).add(value, tags);
}

function took(name: Name, milliseconds: number, tags: MetricTags): void {
  meter()
    .createHistogram(name, 'float', undefined, METRICS[name])
    .record(Math.max(0, milliseconds) / 1_000, tags);
}

/** For every worker of this process: what is in flight, how long it waited and took, and how episodes ended. */
export function counting(): ActivityInterceptorsFactory {
  const inFlight = new Map<string, number>();
  const change = (activity: string, by: number): void => {
    const now = (inFlight.get(activity) ?? 0) + by;
    inFlight.set(activity, now);
    const name = 'steadfast_activities_in_flight';
    meter().createGauge(name, 'int', undefined, METRICS[name]).set(now, { activity });
  };
  return ({ info }: Pick<Context, 'info'>) => {
    const activity = info.activityType;
    return {
      inbound: {
        async execute(input, next) {
          const began = Date.now();
          took('steadfast_queue_wait_seconds', began - info.currentAttemptScheduledTimestampMs, { activity });
          change(activity, 1);
          let result: 'done' | 'failed' = 'failed';
          try {
            const value = await next(input);
            result = 'done';
            if (activity === 'runEpisode') ended(value as EpisodeSummary);
            return value;
          } catch (error) {
            if (activity === 'runEpisode') add('steadfast_episodes', 1, { outcome: 'stopped' });
            throw error;
          } finally {
            change(activity, -1);
            took('steadfast_activity_seconds', Date.now() - began, { activity, result });
          }
        },
      },
    };
  };
}

function ended({ outcome, reused, fault, sampledTokens }: EpisodeSummary): void {
  add('steadfast_episodes', 1, { outcome: reused ? 'reused' : outcome });
  if (reused) return;
  if (fault) add('steadfast_system_errors', 1, { fault });
  add('steadfast_sampled_tokens', sampledTokens, {});
}

export function idleRun(seconds: number): void {
  const name = 'steadfast_idle_run_seconds';
  meter().createGauge(name, 'float', undefined, METRICS[name]).set(seconds);
}

/** The same driver, whose starts are counted. */
export function countingStarts(driver: SandboxDriver): SandboxDriver {
  const { isolation } = driver;
  return {
    ...driver,
    async create(request) {
      const began = Date.now();
      const tags = { isolation, warm: request.warm !== undefined };
      try {
        const sandbox = await driver.create(request);
        add('steadfast_sandbox_starts', 1, { ...tags, result: 'started' });
        took('steadfast_sandbox_start_seconds', Date.now() - began, tags);
        return sandbox;
      } catch (error) {
        add('steadfast_sandbox_starts', 1, { ...tags, result: 'failed' });
        throw error;
      }
    },
  };
}
