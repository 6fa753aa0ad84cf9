/** A keeper's real vLLM on a CPU: what its process needs, settings that fit, and patience. */
import path from 'node:path';
import type { VllmSettings } from '../../core/serving/settings.js';
import { VLLM } from '../../temporal.config.js';
import { ROOT } from '../trainer/server.js';

export const CPU = {
  PYTHONPATH: [path.join(ROOT, 'native', 'vllm'), process.env.PYTHONPATH ?? ''].join(path.delimiter),
  ...{ VLLM_TARGET_DEVICE: 'cpu', OMP_NUM_THREADS: '1' },
  ...{ VLLM_CPU_KVCACHE_SPACE: '1', VLLM_CPU_OMP_THREADS_BIND: 'nobind' },
};
export const SMALL: VllmSettings = {
  ...VLLM,
  ...{ tensorParallel: 1, dtype: 'float32', maxModelLength: 512, maxSequences: 8, maxBatchedTokens: 512 },
  extraArguments: ['--enforce-eager'],
};

/** vLLM takes a minute to come up, and ten on a busy machine; `until` gives up after two. */
export async function slowly<T>(wait: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await wait();
    } catch (error) {
      if (tries === 7) throw error;
    }
  }
}
