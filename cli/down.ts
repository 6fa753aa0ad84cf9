/** `steadfast down`: nothing of the local stack is left running. */
import type { Command } from 'commander';
import { stopStack } from '../infra/stack/stop.js';
import { printJson, say } from './output.js';

export function registerDown(program: Command): void {
  program
    .command('down')
    .description(
      'Stop every process of the local stack. Campaigns keep their state and go on after the next "up".',
    )
    .option('--json', 'print {"stopped": true} when there was something to stop')
    .action(async (options: { json?: boolean }) => {
      const stopped = await stopStack();
      if (options.json) printJson({ stopped });
      else say(stopped ? 'the stack is stopped' : 'the stack was not running');
    });
}
