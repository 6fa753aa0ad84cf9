/** `main.mjs` after the check of Node's version: arguments, set-up, errors as messages. */
import { build } from './build.mjs';
import { asProblem, SetupProblem } from './problem.mjs';
import { homeFolder } from './root.mjs';
import { setUp } from './setup.mjs';
import { goOn, NEXT_NAMES } from './then.mjs';

/** @param {string[]} args */
export async function start(args) {
  try {
    const next = parse(args);
    await setUp((line) => console.error(`› ${line}`));
    if (!next) {
      console.error('› ready: npm run demo, npm test, npx steadfast --help');
      return;
    }
    const code = await goOn(next.name, next.args);
    if (code !== undefined) process.exitCode = code;
  } catch (thrown) {
    report(thrown);
  }
}

/** Builds if needed; used by `cli/steadfast.mjs`. False (and an exit code) after an error that was reported. */
export async function fresh() {
  try {
    await build({ log: (line) => console.error(`› ${line}`) });
    return true;
  } catch (thrown) {
    report(thrown);
    return false;
  }
}

/** @param {string[]} args */
function parse(args) {
  if (args.length === 0) return undefined;
  const [flag, name, ...rest] = args;
  if (flag !== '--then' || !name || !NEXT_NAMES.includes(name)) {
    throw new SetupProblem(
      'arguments',
      `--then ${NEXT_NAMES.join('|')}`,
      args.join(' '),
      'see infra/setup/main.mjs',
    );
  }
  return { name, args: rest };
}

/** @param {unknown} thrown */
function report(thrown) {
  const error = asProblem(thrown, homeFolder());
  if (process.argv.includes('--json')) {
    const known = error instanceof SetupProblem;
    const message = error instanceof Error ? error.message : String(error);
    const described = { kind: known ? 'usage' : 'failed', message, ...(known ? error.parts : {}) };
    console.log(JSON.stringify({ error: described, exitCode: known ? 2 : 1 }, null, 2));
  }
  if (error instanceof SetupProblem) {
    console.error(`steadfast: ${error.message}`);
    process.exitCode = 2;
  } else {
    console.error(`steadfast: set-up failed\n  ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
