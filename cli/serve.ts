/** `steadfast serve`: weights behind a vLLM server on a GPU host, as long as somebody needs them. */
import type { Command } from 'commander';
import { integer } from './run/options.js';
import { listServings, startServing, stopServing } from './serve-run.js';

const HOUR_MOST = 24 * 365;

export function registerServe(program: Command): void {
  const serve = program
    .command('serve')
    .description('Weights behind a vLLM server of a GPU host (docs/serving.md).')
    .addHelpText(
      'after',
      '\nExamples:\n  $ steadfast serve start run-1@latest\n  $ steadfast serve start /models/qwen --as qwen --host gpu-1 --file run.yaml\n  $ steadfast serve list --json\n  $ steadfast serve stop run-1-step-0005\n\nEvaluations of a served checkpoint start their server themselves.\n',
    );
  serve
    .command('start')
    .description('Serve a checkpoint or a model folder; returns when it has answered a completion.')
    .argument('<weights>', 'RUN@STEP, RUN@latest, or a folder that the GPU hosts can read')
    .option('--as <name>', 'its name in `serve list`, and for a folder the name that requests carry')
    .option('--host <name...>', 'only these GPU hosts')
    .option('--for <hours>', 'ended by itself after so long (24)', integer(1, HOUR_MOST))
    .option('--changing', 'a trainer loads other weights into it: only that it answers is looked at')
    .option('--file <run.yaml>', 'settings of vLLM: model.serving, else trainer.serving')
    .option('--detach', 'do not wait until it is ready')
    .option('--json', 'print as JSON')
    .action(startServing);
  serve
    .command('list', { isDefault: true })
    .description('What is served where, who needs it, and what went wrong last.')
    .option('--json', 'print as JSON')
    .action(listServings);
  serve
    .command('stop')
    .description('Say that you need it no more; it ends when nobody else does.')
    .argument('<name>')
    .option('--now', 'end it, whoever needs it')
    .option('--json', 'print as JSON')
    .action(stopServing);
}
