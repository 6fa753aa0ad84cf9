/** A trainer of one command's own, beside the stack's: replays never touch the weights that a run samples from. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { UsageError } from '../../core/faults.js';
import { venvPython } from '../setup/python.mjs';
import { ROOT } from '../setup/root.mjs';
import { requireBaseCheckpoint } from './base-checkpoint.js';
import { readStack } from './info.js';
import { passedOn } from './passed-on.js';
import { STACK_MARK } from './service.js';
import { torchCommand, torchTrainer } from './torch-trainer.js';
import { type TrainerProcess, trainerCommand } from './trainer-command.js';
import { trainerElsewhere } from './trainer-elsewhere.js';

export interface PrivateTrainer {
  /** Base URL without `/v1`. */
  readonly url: string;
  /** Ends the process and removes its folder. Idempotent. */
  stop(): Promise<void>;
}

const END_MS = 5_000;

/**
 * Starts a trainer of the stack's kind on a free port; it answers when this returns. `home` is the stack's: `down` ends what
 * a killed command has left. Throws `UsageError` when Python or the base checkpoint is missing.
 */
export async function startPrivateTrainer(home: string): Promise<PrivateTrainer> {
  const command = commandOf(home);
  const folder = mkdtempSync(join(tmpdir(), 'steadfast-trainer-'));
  const { file, args, cwd, env } = command(folder);
  const child = spawn(file, [...args], {
    cwd,
    env: { ...process.env, ...env, [STACK_MARK]: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text: Buffer) => {
    said = `${said}${text}`.slice(-2_000);
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const stop = async () => {
    process.off('exit', kill);
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      const timer = setTimeout(kill, END_MS);
      await ended;
      clearTimeout(timer);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const line = await Promise.race([
      once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text)),
      ended.then(([code]) =>
        Promise.reject(new Error(`the private trainer ended with ${code}: ${said.trim()}`)),
      ),
    ]);
    return { url: /http:\S+/.exec(line)?.[0] ?? '', stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** How the stack's trainer would be started, with a folder of its own and on a free port. */
function commandOf(home: string): (folder: string) => TrainerProcess {
  const variables = passedOn(process.env, readStack(home)?.passedOn);
  const elsewhere = trainerElsewhere(variables);
  if (elsewhere) {
    const fix = 'Start another one like it, and name it: --trainer URL.';
    throw new UsageError('--trainer', `an idle trainer, beside the one at ${elsewhere}`, 'none', fix);
  }
  const torch = torchTrainer(variables, home);
  if (torch) return (folder) => torchCommand(torch, 0, folder);
  requireBaseCheckpoint();
  const python = venvPython(ROOT, home);
  if (python) return (folder) => trainerCommand(python.file, 0, folder);
  throw new UsageError(
    "the trainer's Python packages",
    'installed',
    'none that are current',
    'Run: npm run setup',
  );
}
