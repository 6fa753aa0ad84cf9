/** How the embedded trainer is started: one way for the stack and for a replay, so that the same bytes come out. */
import { join } from 'node:path';
import { ROOT } from '../setup/root.mjs';

export interface TrainerProcess {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** `port` 0 takes a free one and prints it; relative paths in requests are read against `home`. */
export function trainerCommand(python: string, port: number, home: string): TrainerProcess {
  const folder = join(ROOT, 'native', 'trainer');
  return {
    file: python,
    args: [
      ...['-m', 'steadfast_trainer', 'serve', '--port', String(port)],
      ...['--home', home, '--base', join(folder, 'base')],
    ],
    cwd: folder,
    env: {
      PYTHONPATH: folder,
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      // Byte-reproducible, and a small model gains nothing from more.
      OPENBLAS_NUM_THREADS: '1',
      OMP_NUM_THREADS: '1',
    },
  };
}
