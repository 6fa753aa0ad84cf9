/** `steadfast suite add thinkingbox`: checks two checkouts, makes their Python environment, and remembers both. */
import { type Command, Option } from 'commander';
import { UsageError } from '../core/faults.js';
import { print, printJson, say } from './output.js';

interface Flags {
  readonly thinkingbox: string;
  readonly data: string;
  readonly name: string;
  readonly acceptRevision?: true;
  readonly cases?: string;
  readonly python?: string;
  readonly servers?: 'forked' | 'stdio';
  readonly states?: 'changes' | 'whole';
  readonly search?: string;
  readonly searchKeyEnv?: string;
  readonly json?: true;
}

export function registerSuiteAdd(suite: Command): void {
  suite
    .command('add')
    .description('use the cases of a ThinkingBox checkout by name, without environment variables')
    .argument('<kind>', 'thinkingbox')
    .requiredOption('--thinkingbox <dir>', 'checkout of github.com/microsoft/thinkingbox')
    .requiredOption(
      '--data <dir>',
      'checkout of github.com/microsoft/thinkingbox-data, or your own in its form',
    )
    .option('--name <name>', 'name of the suite', 'thinkingbox')
    .option(
      '--accept-revision',
      'use other revisions than those of ThinkingBox-Bench v1.0, or your own cases',
    )
    .option('--cases <file>', 'YAML list of case ids; by default the benchmark, or all of your own')
    .option('--python <path>', 'interpreter that has the packages of native/thinkingbox/requirements.txt')
    .addOption(new Option('--servers <how>', 'how tool servers are started').choices(['forked', 'stdio']))
    .addOption(new Option('--states <what>', 'what is kept of final states').choices(['changes', 'whole']))
    .option('--search <url>', 'address of a Typesense for search_policy')
    .option('--search-key-env <variable>', 'environment variable that holds its key')
    .option('--json', 'print as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ steadfast suite add thinkingbox --thinkingbox ~/thinkingbox --data ~/thinkingbox-data\n',
    )
    .action(add);
}

async function add(kind: string, flags: Flags): Promise<void> {
  if (kind !== 'thinkingbox') throw new UsageError('suite add', 'thinkingbox', `"${kind}"`);
  const { addThinkingBox } = await import('../suites/thinkingbox/add.js');
  const { BUILT_IN } = await import('../workers/suites.js');
  if (flags.name !== kind && BUILT_IN.includes(flags.name))
    throw new UsageError('--name', `a name other than ${flags.name}`, `"${flags.name}"`);
  const { thinkingbox, data, name, acceptRevision = false, search, searchKeyEnv, json, ...rest } = flags;
  if (searchKeyEnv !== undefined && search === undefined)
    throw new UsageError('--search-key-env', '--search with it', 'no --search');
  const keyEnv = searchKeyEnv === undefined ? {} : { keyEnv: searchKeyEnv };
  const added = await addThinkingBox({
    env: process.env,
    name,
    settings: {
      thinkingboxDir: thinkingbox,
      dataDir: data,
      ...rest,
      ...(search === undefined ? {} : { search: { url: search, ...keyEnv } }),
    },
    acceptRevision,
    report: say,
  });
  if (json) printJson(added);
  else {
    print(`${name}: ${added.tasks} tasks, ${added.benchmark} of them never trained on, ${added.digest}`);
    for (const [domain, tasks] of Object.entries(added.domains)) print(`  ${domain}  ${tasks}`);
    for (const note of added.notComparable) print(`not comparable: ${note}`);
    say(
      'Workers that run open it when they need it; those that had it open keep what they have until `steadfast down`.',
    );
  }
}
