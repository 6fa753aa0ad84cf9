/**
 * What the stack needs, looked at before anything is started. `doctor` shows every line; `up` stops at the first that
 * does not hold.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../core/faults.js';
import { requireRoom } from '../setup/disk.mjs';
import { SetupProblem } from '../setup/problem.mjs';
import { venvPython } from '../setup/python.mjs';
import { ROOT } from '../setup/root.mjs';
import { findTemporal } from '../setup/temporal.mjs';
import { requireBaseCheckpoint } from './base-checkpoint.js';
import { externalDatabase } from './database.js';
import { readStack } from './info.js';
import { passedOn } from './passed-on.js';
import type { PlanOptions } from './plan.js';
import { findBinaries } from './postgres-data.js';
import type { TorchTrainer } from './torch-trainer.js';
import { servicesHere } from './trainer-elsewhere.js';

export interface Check {
  readonly name: string;
  /** What was found, in words; undefined when it does not hold. */
  readonly found?: string;
  readonly problem?: UsageError;
}

type Wanted = Pick<PlanOptions, 'home' | 'services' | 'workers' | 'torch'>;

/** MiB that databases, logs and artifacts of a demo take. */
const ROOM_MB = 100;
const SET_UP = 'Run "npm run setup"';

/** Executables for the plan. Throws the first `UsageError`. */
export function requireStack(wanted: Wanted): Pick<PlanOptions, 'python' | 'temporal'> {
  const { checks, python, temporal } = look(wanted);
  const failed = checks.find(({ problem }) => problem);
  if (failed?.problem) throw failed.problem;
  return { python: python ?? '', temporal: temporal ?? '' };
}

/** Every check of `requireStack`, and the slower ones; never throws for a check that does not hold. */
export async function examine(wanted: Wanted): Promise<readonly Check[]> {
  const variables = passedOn(process.env, readStack(wanted.home)?.passedOn);
  const { checks } = look({ ...wanted, services: servicesHere(wanted.services, variables) });
  return [...checks, await postgresCheck()];
}

function look({ home, services, workers, torch }: Wanted): {
  checks: Check[];
  python: string | undefined;
  temporal: string | undefined;
} {
  const checks: Check[] = [roomCheck(home)];
  const embedded = services.includes('trainer') && torch === undefined;
  const python = embedded ? venvPython(ROOT, home) : undefined;
  const temporal = services.includes('temporal') ? findTemporal(home) : undefined;
  if (services.includes('temporal')) {
    checks.push(
      check(
        'Temporal server',
        temporal && `${temporal.version}, ${temporal.file}`,
        'an installation, or `temporal` on PATH',
        SET_UP,
      ),
    );
  }
  if (torch && services.includes('trainer')) checks.push({ name: 'PyTorch trainer', found: wordsOf(torch) });
  if (embedded) {
    checks.push(
      check(
        'Python packages',
        python && `Python ${python.version}, ${python.file}`,
        'an environment with the packages of native/trainer/requirements.txt',
        SET_UP,
      ),
      attempt('base checkpoint', requireBaseCheckpoint),
    );
  }
  const scripts = [
    ...(services.includes('endpoints') ? ['suites/deskbench/endpoints/main.js'] : []),
    ...Object.entries(workers).flatMap(([kind, count]) => (count > 0 ? [`workers/${kind}.js`] : [])),
    ...(workers.pipeline > 0 ? ['workflow-bundle.js'] : []),
  ].map((script) => join(ROOT, 'dist', script));
  const missing = scripts.find((script) => !existsSync(script));
  checks.push(
    check('build', missing === undefined && join(ROOT, 'dist'), missing ?? '', 'Run "npm run build"'),
  );
  return { checks, python: python?.file, temporal: temporal?.file };
}

function wordsOf({ python, model }: TorchTrainer): string {
  return `${model}, with ${python}`;
}

function check(name: string, found: string | false | undefined, expected: string, fix: string): Check {
  return found ? { name, found } : { name, problem: new UsageError(name, expected, 'nothing', fix) };
}

function roomCheck(home: string): Check {
  return attempt('home folder', () => {
    requireRoom(home, ROOM_MB, 'databases, logs and artifacts');
    return home;
  });
}

/** `look` returns what it found, or throws what is wrong. */
function attempt(name: string, look: () => string): Check {
  try {
    return { name, found: look() };
  } catch (error) {
    return { name, problem: usage(name, error) };
  }
}

async function postgresCheck(): Promise<Check> {
  const external = externalDatabase();
  if (external) return { name: 'PostgreSQL', found: `DATABASE_URL (${hostOf(external)})` };
  try {
    const { postgres, major } = await findBinaries();
    return { name: 'PostgreSQL', found: `${major}, ${postgres}` };
  } catch (error) {
    return { name: 'PostgreSQL', problem: usage('PostgreSQL', error) };
  }
}

/** Without user and password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'not a URL';
}

function usage(place: string, error: unknown): UsageError {
  if (error instanceof UsageError) return error;
  if (error instanceof SetupProblem) {
    const { expected, found, fix } = error.parts;
    return new UsageError(error.parts.place, expected, found, `${fix[0]!.toUpperCase()}${fix.slice(1)}`);
  }
  return new UsageError(place, 'a working one', error instanceof Error ? error.message : String(error));
}
