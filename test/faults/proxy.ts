/** The fault-injection proxy for HTTP: what `FaultPlan` says happens to requests and replies. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Forward,
  type HttpProxy,
  type Intercept,
  type ProxiedReply,
  type ProxiedRequest,
  startHttpProxy,
} from './http-proxy.js';
import { FaultPlan, type FaultRule } from './plan.js';

export interface FaultProxy extends Pick<HttpProxy, 'url' | 'close'> {
  readonly plan: FaultPlan;
}

export async function startFaultProxy(
  target: string,
  { seed = 1, rules = [] }: { readonly seed?: number; readonly rules?: readonly FaultRule[] } = {},
): Promise<FaultProxy> {
  const plan = new FaultPlan(seed, rules);
  const { url, close } = await startHttpProxy(target, faulty(plan));
  return { url, close, plan };
}

export function faulty(plan: FaultPlan): Intercept {
  return async (request, forward) => {
    const rule = plan.next(request.path);
    return rule === undefined ? forward(request) : meet(rule, request, forward);
  };
}

async function meet(
  { fault, ms = 0 }: FaultRule,
  request: ProxiedRequest,
  forward: Forward,
): Promise<ProxiedReply | null> {
  switch (fault) {
    case 'reset':
      return null;
    case 'drop-request':
      await sleep(ms);
      return null;
    case 'drop-reply':
      await forward(request);
      await sleep(ms);
      return null;
    case 'delay-request':
      await sleep(ms);
      return forward(request);
    case 'delay-reply': {
      const reply = await forward(request);
      await sleep(ms);
      return reply;
    }
    case 'duplicate':
      await forward(request);
      return forward(request);
    case 'truncate-request':
      return forward({ ...request, cutAfter: Math.floor(request.body.length / 2) });
    case 'truncate-reply': {
      const reply = await forward(request);
      return { ...reply, cutAfter: Math.floor(reply.body.length / 2) };
    }
  }
}
