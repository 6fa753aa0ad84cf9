/** The command of one start of a run's job: Verl's settings, and what differs from start to start. Pure. */
import { verlArguments } from './command.js';
import type { VerlSettings } from './settings.js';

export interface JobStart {
  /** Folder of the checkpoint that it goes on from, chosen by us; null: from the model. */
  readonly from: string | null;
  /** Verl's file logger writes here, wherever in the cluster it runs; it empties what lies there. */
  readonly metrics: string;
  /** Where Hydra may write. */
  readonly hydra: string;
}

/**
 * Verl itself goes on from whatever its tracker file names, whole or not, and starts from nothing without a word where
 * that is missing. So it is told.
 */
export function jobCommand(python: string, settings: VerlSettings, start: JobStart): readonly string[] {
  const { from, metrics, hydra } = start;
  const resume =
    from === null
      ? { 'trainer.resume_mode': 'disable' }
      : { 'trainer.resume_mode': 'resume_path', 'trainer.resume_from_path': from };
  const all = {
    ...settings,
    ...resume,
    // Ray's actors have the environment of their host, not of who starts the job.
    '+ray_kwargs.ray_init.runtime_env.env_vars.VERL_FILE_LOGGER_PATH': metrics,
    'hydra.run.dir': hydra,
  };
  return [python, '-m', 'verl.trainer.main_ppo', ...verlArguments(all)];
}

/** What makes a job the run's, however often it is started. */
export function jobIdentity(python: string, settings: VerlSettings): readonly string[] {
  return [python, ...verlArguments(settings)];
}
