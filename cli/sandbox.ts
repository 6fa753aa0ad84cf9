/** `steadfast sandbox`: what tool servers run in, and the images that they run from in containers. */
import type { Command } from 'commander';

export function registerSandbox(program: Command): void {
  const sandbox = program.command('sandbox').description('What tool servers run in.');
  sandbox
    .command('sweep')
    .description('end what was left behind on this host; sandbox workers do that by themselves, every minute')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast sandbox sweep\n')
    .action(async (options: { json?: true }) => (await import('./sandbox-sweep.js')).sweep(options));
  const image = sandbox.command('image').description('images of tool servers');
  image
    .command('build')
    .description(
      'make an image of this machine’s own files, without a registry, and give it to the Docker engine',
    )
    .argument('<suite>', 'deskbench, thinkingbox, or one that was added')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast sandbox image build deskbench\n')
    .action(async (suite: string, options: { json?: true }) =>
      (await import('./sandbox-image.js')).build(suite, options),
    );
  image
    .command('context')
    .description('write what `docker build` needs to make the image on a base of your own')
    .argument('<suite>', 'deskbench, thinkingbox, or one that was added')
    .argument('<folder>', 'where to')
    .addHelpText('after', '\nExample:\n  $ steadfast sandbox image context thinkingbox image\n')
    .action(async (suite: string, folder: string) =>
      (await import('./sandbox-image.js')).context(suite, folder),
    );
  image
    .command('use')
    .description('run the servers of a suite from an image that the Docker engine has')
    .argument('<suite>', 'deskbench, thinkingbox, or one that was added')
    .argument('<image>', 'its id, its digest, or the name that it has now')
    .option('--json', 'print as JSON')
    .addHelpText('after', '\nExample:\n  $ steadfast sandbox image use deskbench my/desks\n')
    .action(async (suite: string, image: string, options: { json?: true }) =>
      (await import('./sandbox-image.js')).use(suite, image, options),
    );
}
