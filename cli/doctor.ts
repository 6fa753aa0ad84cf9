/** `steadfast doctor`: what this machine has, what is missing, and the exact fix. */
import type { Command } from 'commander';
import pc from 'picocolors';
import { isAlive } from '../infra/setup/process.mjs';
import { homeFolder } from '../infra/setup/root.mjs';
import { readState, type StackState } from '../infra/stack/info.js';
import { SERVICES } from '../infra/stack/plan.js';
import { examine } from '../infra/stack/preflight.js';
import { EXIT } from './exit.js';
import { print, printJson } from './output.js';

interface Line {
  readonly name: string;
  readonly ok: boolean;
  readonly found: string;
  readonly fix: string | null;
}

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('Look at everything that the local stack needs. Exit code 2 when something is missing.')
    .option('--json', 'print the checks as JSON')
    .action(async (options: { json?: boolean }) => {
      const lines = [...(await machine()), ...running(readState())];
      if (options.json) printJson(lines);
      else print(lines.map(text).join('\n'));
      if (lines.some(({ ok }) => !ok)) process.exitCode = EXIT.usage;
    });
}

async function machine(): Promise<Line[]> {
  const checks = await examine({
    home: homeFolder(),
    services: SERVICES,
    workers: { pipeline: 1, sandbox: 1, gpu: 1 },
  });
  return [
    { name: 'Node.js', ok: true, found: `${process.versions.node}, ${process.execPath}`, fix: null },
    ...checks.map(({ name, found, problem }) => ({
      name,
      ok: problem === undefined,
      found: problem ? `expected ${problem.expected}, found ${problem.found}` : (found ?? ''),
      fix: problem?.fix ?? null,
    })),
  ];
}

function running(state: StackState | undefined): Line[] {
  if (!state)
    return [{ name: 'stack', ok: true, found: 'not running; start it with "steadfast up"', fix: null }];
  const alive = isAlive(state.supervisor);
  const supervisor: Line = {
    name: 'stack',
    ok: alive,
    found: alive ? state.state : firstLine(state.problem ?? 'its supervisor is gone'),
    fix: alive ? null : 'steadfast up, or steadfast down',
  };
  return [
    supervisor,
    ...state.processes.map((item) => {
      const ok = isAlive(item);
      const restarts = item.restarts > 0 ? `, restarted ${item.restarts} times` : '';
      return {
        name: `  ${item.name}`,
        ok,
        found: ok ? `process ${item.pid}${restarts}` : firstLine(item.problem ?? 'not running'),
        fix: ok ? null : `see ${item.log}`,
      };
    }),
  ];
}

/** The rest is the end of a log, which the fix names. */
const firstLine = (words: string): string => words.split('\n')[0] as string;

function text({ name, ok, found, fix }: Line): string {
  const mark = ok ? pc.green('✓') : pc.red('✗');
  return `${mark} ${name.padEnd(18)} ${found}${fix ? `\n    ${pc.bold('fix:')} ${fix}` : ''}`;
}
