/**
 * Variables of whoever types `up` that workers need: checkouts of ThinkingBox-Bench, a trainer elsewhere, the endpoints that play the
 * simulated user and the judge, the isolation that its operator demands, and what containers may reach. They are recorded
 * with the stack, so that a worker that is started again has them too.
 * No secrets: a key is named by its variable, and reaches the workers through the environment that they inherit.
 */
import { TRAINER_VARIABLES } from './torch-trainer.js';

const NAMES = [
  ...TRAINER_VARIABLES,
  'STEADFAST_TRAINER_URL',
  'THINKINGBOX_DIR',
  'THINKINGBOX_DATA_DIR',
  'THINKINGBOX_CASES',
  'THINKINGBOX_PYTHON',
  'THINKINGBOX_SERVERS',
  'STEADFAST_ISOLATION',
  'STEADFAST_HOST',
  'STEADFAST_SLOTS',
  'STEADFAST_WARM',
  'DOCKER_HOST',
  'STEADFAST_DOCKER_RUNTIME',
  'STEADFAST_ENDPOINTS',
  ...['USER', 'JUDGE'].flatMap((role) =>
    ['URL', 'MODEL', 'KEY_ENV'].map((part) => `STEADFAST_${role}_${part}`),
  ),
];

export type PassedOn = Readonly<Record<string, string>>;

/**
 * What is set now; and what the running stack was given where it is not, since a second terminal that starts
 * something else must not take a running evaluation's checkouts away. `down` forgets all of it.
 */
export function passedOn(env: NodeJS.ProcessEnv, running: PassedOn = {}): PassedOn {
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = env[name] || running[name];
      return value ? [[name, value]] : [];
    }),
  );
}
