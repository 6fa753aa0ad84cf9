/** `steadfast down`: nothing of the local stack is left running. */
import type { Command } from 'commander';
import { homeFolder } from '../infra/setup/root.mjs';
import { forgetUp } from '../infra/stack/holders.js';
import { readState } from '../infra/stack/info.js';
import { stopStack } from '../infra/stack/stop.js';
import { printJson, say } from './output.js';
import { endSandboxes } from './run/sweep-once.js';

export function registerDown(program: Command): void {
  program
    .command('down')
    .description(
      'Stop every process of the local stack. Campaigns keep their state and go on after the next "up".',
    )
    .option('--json', 'print {"stopped": true} when there was something to stop')
    .action(async (options: { json?: boolean }) => {
      const home = homeFolder();
      forgetUp(home);
      const info = readState(home);
      const stopped = await stopStack();
      if (stopped) await endSandboxes(home, info);
      if (options.json) printJson({ stopped });
      else say(stopped ? 'the stack is stopped' : 'the stack was not running');
    });
}
