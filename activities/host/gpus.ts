/** The GPUs of this machine, as their driver lists them. Nothing is allocated on them. */
import type { GpuFacts } from '../../core/cluster.js';
import { captured } from './captured.js';

const QUERY = ['--query-gpu=index,name,memory.total', '--format=csv,noheader,nounits'] as const;

/** Throws where `nvidia-smi` is not there, fails, or prints something else. */
export async function listGpus(signal: AbortSignal): Promise<readonly GpuFacts[]> {
  return readGpuLines(await captured('nvidia-smi', QUERY, signal));
}

/** One GPU a line: `0, NVIDIA H100 80GB HBM3, 81559`. Throws for a line that is none. */
export function readGpuLines(text: string): readonly GpuFacts[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const match = /^\s*(\d+)\s*,\s*(.+?)\s*,\s*(\d+)\s*$/.exec(line);
      if (!match) throw new Error(`nvidia-smi: expected "index, name, MiB", found ${JSON.stringify(line)}`);
      return { index: Number(match[1]), name: match[2]!, memoryMiB: Number(match[3]) };
    });
}
