/**
 * The ways from the workers to Temporal, PostgreSQL, the trainer and the endpoints, each through a proxy:
 *
 *   worker ──► [HTTP proxy] ──► TCP proxy ──► service          (HTTP proxy: trainer and endpoints only)
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StackInfo } from '../../infra/stack/info.js';
import type { Through } from '../../infra/stack/through.js';
import { type HttpProxy, startHttpProxy } from '../faults/http-proxy.js';
import { type FaultName, FaultPlan } from '../faults/plan.js';
import { faulty } from '../faults/proxy.js';
import { startTcpProxy, type TcpFaults, type TcpProxy } from '../faults/tcp-proxy.js';
import type { HttpLink, Link, Network } from './schedule.js';

export interface Links {
  /** For `startStack`. */
  readonly through: Through;
  /** Requests and replies that HTTP faults have met so far. */
  readonly met: () => number;
  /** Done when it is over. */
  network(link: Link, how: Network, ms: number): Promise<void>;
  http(link: HttpLink, how: FaultName, ms: number): Promise<void>;
  /** Everything passes from here on. */
  heal(): void;
  close(): Promise<void>;
}

const NETWORK: Readonly<Record<Exclude<Network, 'resets'>, TcpFaults>> = {
  latency: { delayMs: 60 },
  cuts: { cutShare: 0.05 },
  stall: { stalled: true },
  refusals: { refusing: true },
};
/** Of the requests of a link while an HTTP fault lasts. */
const SHARE = 0.25;
/** How late what is late arrives, ms. */
const LATE_MS = 700;
const RESET_EVERY_MS = 400;

/** `info`: the services, which keep their addresses for as long as their home exists. */
export async function startLinks(info: StackInfo, seed: number): Promise<Links> {
  const tcp: Record<Link, TcpProxy> = {
    temporal: await startTcpProxy(addressOf(`tcp://${info.temporal.address}`), seed),
    postgres: await startTcpProxy(addressOf(info.databaseUrl), seed + 1),
    trainer: await startTcpProxy(addressOf(info.trainerUrl), seed + 2),
    endpoints: await startTcpProxy(addressOf(info.userUrl), seed + 3),
  };
  const plans: Record<HttpLink, FaultPlan> = {
    trainer: new FaultPlan(seed),
    endpoints: new FaultPlan(seed + 1),
  };
  const front = (link: HttpLink): Promise<HttpProxy> =>
    startHttpProxy(`http://127.0.0.1:${tcp[link].port}`, faulty(plans[link]));
  const http: Record<HttpLink, HttpProxy> = {
    trainer: await front('trainer'),
    endpoints: await front('endpoints'),
  };

  return {
    through: {
      temporal: tcp.temporal.port,
      postgres: tcp.postgres.port,
      trainer: Number(new URL(http.trainer.url).port),
      endpoints: Number(new URL(http.endpoints.url).port),
    },
    met: () => plans.trainer.events.length + plans.endpoints.events.length,
    async network(link, how, ms) {
      const proxy = tcp[link];
      if (how === 'resets') {
        for (const end = Date.now() + ms; Date.now() < end; await sleep(RESET_EVERY_MS)) proxy.reset();
        return;
      }
      // Who is refused was connected a moment ago.
      if (how === 'refusals') proxy.reset();
      proxy.set(NETWORK[how]);
      await sleep(ms);
      proxy.set({});
    },
    async http(link, how, ms) {
      plans[link].set([{ fault: how, share: SHARE, ms: LATE_MS }]);
      await sleep(ms);
      plans[link].set([]);
    },
    heal() {
      for (const proxy of Object.values(tcp)) proxy.set({});
      for (const plan of Object.values(plans)) plan.set([]);
    },
    async close() {
      await Promise.all(Object.values(http).map((proxy) => proxy.close()));
      await Promise.all(Object.values(tcp).map((proxy) => proxy.close()));
    },
  };
}

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}
