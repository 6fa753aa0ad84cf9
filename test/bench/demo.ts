/**
 * `demo`: the whole of `steadfast demo` on a fresh home, set-up done: probe, 15 steps of 18 × 8, the benchmark 48 × 20
 * before and after, report. Wall clock from the command's start until it ends (the stack's start included), and the
 * memory of all its processes, looked at once a second. The bar on time is for an otherwise idle machine.
 */
import { type DemoRun, runDemo } from './demo-run.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';

const BAR_MINUTES = 8;
const BAR_GB = 2.5;
/** Of the learning benchmark too: then its first seed is this run. */
export const DEMO_SEED = 1;

let running: Promise<DemoRun> | undefined;

/** The demo with its defaults, run once per benchmark program. */
export function defaultDemo({ quick, say }: BenchOptions): Promise<DemoRun> {
  const short = ['--steps', '2', '--probes', '3', '--repeat', '2'];
  running ??= runDemo(['--seed', String(DEMO_SEED), ...(quick ? short : [])], say);
  return running;
}

async function run(options: BenchOptions): Promise<readonly Figure[]> {
  const { wallSeconds, watched, stages } = await defaultDemo(options);
  const minutes = rounded(wallSeconds / 60);
  const gigabytes = rounded(watched.peakBytes / 1e9);
  const cpuSeconds = Object.values(watched.seconds).reduce((sum, value) => sum + value, 0);
  return [
    {
      figure: 'wall time of the demo',
      bar: `< ${BAR_MINUTES} minutes on an idle machine`,
      target: '5 minutes',
      measured: minutes,
      unit: 'minutes',
      holds: minutes < BAR_MINUTES,
      details: {
        cpuSeconds: rounded(cpuSeconds, 1),
        cpuSecondsByProcess: mapped(watched.seconds, (value) => rounded(value, 1)),
        load: { mean: rounded(watched.load.mean), max: watched.load.max },
        stageSeconds: stages,
      },
    },
    {
      figure: 'memory of all processes of the demo, peak',
      bar: `≤ ${BAR_GB} GB`,
      target: null,
      measured: gigabytes,
      unit: 'GB',
      holds: gigabytes <= BAR_GB,
      details: {
        kind: watched.memoryKind,
        samples: watched.samples,
        megabytesAtPeak: mapped(watched.atPeak, (bytes) => Math.round(bytes / 1e6)),
      },
    },
  ];
}

function mapped(values: Readonly<Record<string, number>>, change: (value: number) => number) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

export const demoBench: Bench = {
  name: 'demo',
  about: 'the demo with its defaults on a fresh home, about 2 minutes',
  run,
};
