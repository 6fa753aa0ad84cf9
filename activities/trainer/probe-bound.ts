/** How far sampler and trainer may differ on fixed sequences before the sampler's weights are taken for other ones. */
import type { Trainer } from '../../core/trainer.js';
import { PROBE_BOUND } from '../../temporal.config.js';

/** Nats. A trainer whose sampler has other kernels or number formats says its own bound (`capabilities.probeBound`). */
export async function probeBound(
  trainer: Pick<Trainer, 'capabilities'>,
  signal: AbortSignal,
): Promise<number> {
  const { probeBound: own } = await trainer.capabilities(signal);
  return typeof own === 'number' && own > 0 ? own : PROBE_BOUND;
}
