/** `steadfast sandbox`: the images that tool servers run from in containers. */
import type { Command } from 'commander';
import { UsageError } from '../core/faults.js';
import { homeFolder } from '../infra/setup/root.mjs';
import { print, printJson, say } from './output.js';

export function registerSandbox(program: Command): void {
  const sandbox = program.command('sandbox').description('What tool servers run in.');
  sandbox
    .command('image')
    .description('images of tool servers')
    .command('build')
    .description(
      'make an image of this machine’s own files, without a registry, and give it to the Docker engine',
    )
    .argument('<suite>', 'deskbench')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast sandbox image build deskbench\n')
    .action(build);
}

async function build(name: string, { json }: { json?: true }): Promise<void> {
  if (name !== 'deskbench') throw new UsageError('sandbox image build', 'deskbench', `"${name}"`);
  const { checkEngine, engineSettings, openEngine } = await import('../activities/sandbox/docker/engine.js');
  const { rememberImage } = await import('../activities/sandbox/docker/images.js');
  const { createDeskbench, stdioEntry } = await import('../suites/deskbench/suite.js');
  const { loadImage } = await import('../infra/images/load.js');
  const { programImage } = await import('../infra/images/node-image.js');
  const settings = engineSettings(process.env);
  const engine = await openEngine(settings);
  await checkEngine(engine, settings);
  const [tag] = createDeskbench().images as readonly [string];
  const archive = await programImage({ tag, entry: stdioEntry() });
  const id = await loadImage(engine, archive, tag);
  await rememberImage(homeFolder(), tag, id);
  if (json) printJson({ tag, id, bytes: archive.bytes.length });
  else {
    print(`${tag}  ${id}`);
    say(`${(archive.bytes.length / 1e6).toFixed(0)} MB. Used where STEADFAST_ISOLATION=docker.`);
  }
}
