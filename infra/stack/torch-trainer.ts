/** The PyTorch trainer in place of the embedded one, where the environment of `up` asks for it (docs/torch.md). */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UsageError } from '../../core/faults.js';
import { sha256 } from '../setup/files.mjs';
import { ROOT, toolFolders } from '../setup/root.mjs';
import type { TrainerProcess } from './trainer-command.js';

/** Variables that choose it; recorded with the stack. */
export const TRAINER_VARIABLES = [
  'STEADFAST_TRAINER',
  'STEADFAST_TRAINER_MODEL',
  'STEADFAST_TRAINER_ARGS',
  'STEADFAST_TORCH_PYTHON',
] as const;

export interface TorchTrainer {
  readonly python: string;
  /** Folder of the model. */
  readonly model: string;
  /** More options of `steadfast_torch serve`. */
  readonly args: readonly string[];
}

const MAKE = 'Make it with native/torch/make-venv.sh, or name an interpreter: STEADFAST_TORCH_PYTHON=…';

/** Undefined: the embedded trainer. Throws `UsageError` for what is missing. */
export function torchTrainer(
  variables: Readonly<Record<string, string | undefined>>,
  home: string,
): TorchTrainer | undefined {
  const kind = variables.STEADFAST_TRAINER || 'embedded';
  if (kind === 'embedded') return undefined;
  if (kind !== 'torch') throw new UsageError('STEADFAST_TRAINER', 'embedded or torch', `"${kind}"`);
  const folder = variables.STEADFAST_TRAINER_MODEL;
  if (!folder) throw new UsageError('STEADFAST_TRAINER_MODEL', 'the folder of a model', 'nothing');
  const model = resolve(folder);
  if (!existsSync(join(model, 'config.json'))) {
    const hint = 'Name a folder with config.json, weights and tokenizer; a hub id is not fetched.';
    throw new UsageError('STEADFAST_TRAINER_MODEL', 'the folder of a model', `no ${model}/config.json`, hint);
  }
  const words = variables.STEADFAST_TRAINER_ARGS?.trim() ?? '';
  return {
    python: torchPython(variables.STEADFAST_TORCH_PYTHON, home),
    model,
    args: words === '' ? [] : words.split(/\s+/),
  };
}

/** The interpreter that is named, or that `make-venv.sh` has made. */
function torchPython(named: string | undefined, home: string): string {
  const made = toolFolders(home).map((folder) => join(folder, 'venv-torch', 'bin', 'python'));
  const found = named ? (existsSync(named) ? named : undefined) : made.find((file) => existsSync(file));
  if (found) return found;
  throw new UsageError('PyTorch', 'a Python with PyTorch and Transformers', named ?? `no ${made[0]}`, MAKE);
}

/**
 * What an update frees it takes again at once: kept by the C library, it is not mapped and cleared anew each time. On
 * the CPU that is half of an update's time.
 */
const KEPT_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: '4294967296',
  MALLOC_TRIM_THRESHOLD_: '8589934592',
  MALLOC_TOP_PAD_: '268435456',
};

/** As `trainerCommand` does it for the embedded one. */
export function torchCommand(
  { python, model, args }: TorchTrainer,
  port: number,
  home: string,
): TrainerProcess {
  const native = join(ROOT, 'native');
  return {
    file: python,
    args: [
      ...['-m', 'steadfast_torch', 'serve', '--port', String(port)],
      ...['--home', home, '--model', model, ...args],
    ],
    cwd: join(native, 'torch'),
    env: {
      PYTHONPATH: [join(native, 'torch'), join(native, 'trainer')].join(':'),
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      ...KEPT_MEMORY,
    },
  };
}

/** Of its sources and of the model's files (by size and time: they are large). */
export function torchDigest({ model }: TorchTrainer): string {
  const native = join(ROOT, 'native');
  const parts = [
    join(native, 'torch', 'steadfast_torch'),
    join(native, 'trainer', 'steadfast_protocol'),
  ].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.py'))
      .map((name) => `${name} ${readFileSync(join(folder, name), 'utf8')}`),
  );
  for (const name of readdirSync(model)) {
    const { size, mtimeMs } = statSync(join(model, name));
    parts.push(`${name} ${size} ${mtimeMs}`);
  }
  return sha256(...parts.sort());
}
