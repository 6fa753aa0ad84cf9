/**
 * Driver `process`: every server a program in its own process group, with a folder of its own, a bare environment
 * and resource limits; started anew, or forked from a warm one where the suite offers it. It keeps honest programs apart; programs that mean harm need `docker`.
 *
 * `<home>/sandboxes/<name>/record.json` says which processes belong to a sandbox, so that another worker can end
 * them when this one is killed.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/faults.js';
import type {
  LivingSandbox,
  Sandbox,
  SandboxDriver,
  SandboxRequest,
  ServerSpec,
} from '../../core/sandbox.js';
import { ForkedTransport } from './forked-transport.js';
import { Nurseries, type Nursery, UnfitToFork } from './nursery.js';
import { killNow, markedProcesses, processStart, SANDBOX_MARK } from './process-identity.js';
import { ProcessTransport } from './process-transport.js';
import { McpSession } from './session.js';

/** Limits of one program, as its shell's `ulimit` sets them. Too low: the program fails in its own words. */
export interface ProcessLimits {
  readonly cpuSeconds: number;
  readonly fileMebibytes: number;
  readonly openFiles: number;
  /** Private memory; not address space, which run times such as Node's reserve in tens of gigabytes. */
  readonly dataMebibytes: number;
  /** Processes and threads of the worker's user in all; the system does not hold root to it. */
  readonly processes: number;
}

export const PROCESS_LIMITS: ProcessLimits = {
  cpuSeconds: 900,
  fileMebibytes: 1_024,
  openFiles: 1_024,
  dataMebibytes: 4_096,
  processes: 8_192,
};

interface Recorded {
  /** `host:pid` of who made it. */
  readonly worker?: string | undefined;
  readonly processes: readonly { readonly pid: number; readonly started: string }[];
}

/** `home`: state folder of this machine (`STEADFAST_HOME`). */
export function createProcessDriver(home: string, limits: ProcessLimits = PROCESS_LIMITS): SandboxDriver {
  const nurseries = new Nurseries();
  return {
    isolation: 'process',
    create: (request) => create(request, folderOf(home, request.name), limits, nurseries),
    reap: async (name) => {
      const folder = folderOf(home, name);
      const recorded = await readRecord(folder);
      const killed = await killAll(name, recorded);
      await rm(folder, { recursive: true, force: true });
      return killed || recorded !== undefined;
    },
    living: () => folders(home),
  };
}

async function create(
  request: SandboxRequest,
  folder: string,
  limits: ProcessLimits,
  nurseries: Nurseries,
): Promise<Sandbox> {
  const session = new McpSession();
  const transports: (ProcessTransport | ForkedTransport)[] = [];
  const connect = async (spec: ServerSpec, transport: ProcessTransport | ForkedTransport) => {
    transports.push(transport);
    const link = { transport, lastWords: () => transport.lastWords(), lines: true };
    await session.connect(spec.name, link, spec.startTimeoutMs, request.signal);
  };
  const release = async (): Promise<void> => {
    await session.close();
    await Promise.all(transports.map((transport) => transport.close()));
    await killAll(request.name, undefined);
    await rm(folder, { recursive: true, force: true });
  };
  const worker = request.labels?.worker;
  try {
    await mkdir(join(folder, 'tmp'), { recursive: true });
    await writeFile(
      join(folder, 'record.json'),
      JSON.stringify({ worker, processes: [] } satisfies Recorded),
    );
    await Promise.all(
      request.servers.map(async (spec) => {
        const forked = spec.warm && warmSession(spec, request.name, folder, limits, nurseries.of(spec.warm));
        try {
          await connect(spec, forked ?? new ProcessTransport(program(spec, request.name, folder, limits)));
        } catch (error) {
          if (!(error instanceof Fault && error.cause instanceof UnfitToFork)) throw error;
          await connect(spec, new ProcessTransport(program(spec, request.name, folder, limits)));
        }
      }),
    );
    await record(folder, worker, transports);
  } catch (error) {
    await release();
    throw error;
  }
  return { name: request.name, tools: session, release };
}

/** The program under a shell that sets the limits and then becomes it: the process id stays. */
function program(spec: ServerSpec, name: string, folder: string, limits: ProcessLimits) {
  const { command } = spec;
  if (!command) {
    throw new Fault('sandbox', `server "${spec.name}" cannot run as a process: it has no \`command\``, {
      retry: false,
    });
  }
  // `ulimit -f` counts blocks of 512 bytes. A limit above the system's own cannot be set and is left alone.
  const set = [
    ['-c', 0],
    ['-t', limits.cpuSeconds],
    ['-f', limits.fileMebibytes * 2_048],
    ['-n', limits.openFiles],
    ['-d', limits.dataMebibytes * 1_024],
  ].map(([flag, value]) => `ulimit ${flag} ${value} 2>/dev/null;`);
  // Shells do not agree on the letter.
  set.push(`ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes} 2>/dev/null;`);
  const temporary = join(folder, 'tmp');
  return {
    file: '/bin/sh',
    args: ['-c', `${set.join(' ')} exec "$0" "$@"`, command.file, ...command.args],
    env: {
      PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
      LANG: 'C.UTF-8',
      HOME: temporary,
      TMPDIR: temporary,
      ...command.env,
      [SANDBOX_MARK]: name,
    },
    cwd: command.cwd ?? temporary,
  };
}

function warmSession(
  spec: ServerSpec,
  name: string,
  folder: string,
  limits: ProcessLimits,
  nursery: Nursery,
): ForkedTransport {
  const home = join(folder, 'tmp');
  return new ForkedTransport(nursery, {
    name,
    cwd: spec.command?.cwd ?? home,
    home,
    stderr: join(folder, `${spec.name.replaceAll(/[^\w.-]/g, '_')}.stderr`),
    limits: {
      core: 0,
      cpuSeconds: limits.cpuSeconds,
      fileBytes: limits.fileMebibytes * 2 ** 20,
      openFiles: limits.openFiles,
      dataBytes: limits.dataMebibytes * 2 ** 20,
      processes: limits.processes,
    },
  });
}

async function record(
  folder: string,
  worker: string | undefined,
  transports: readonly { readonly pid: number | undefined }[],
): Promise<void> {
  const processes: { pid: number; started: string }[] = [];
  for (const { pid } of transports) {
    const started = pid === undefined ? undefined : await processStart(pid);
    if (pid !== undefined && started !== undefined) processes.push({ pid, started });
  }
  await writeFile(join(folder, 'record.json'), JSON.stringify({ worker, processes } satisfies Recorded));
}

async function readRecord(folder: string): Promise<Recorded | undefined> {
  const text = await readFile(join(folder, 'record.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Recorded;
  } catch {
    return { processes: [] }; // half-written by a worker that was killed: the mark still finds its processes
  }
}

/** True when something was alive. Throws when it still is after a second. */
async function killAll(name: string, recorded: Recorded | undefined): Promise<boolean> {
  let found = false;
  // A process that is being ended loses its mark before it is gone.
  const ending = new Map<number, string>();
  for (const { pid, started } of recorded?.processes ?? []) {
    if ((await processStart(pid)) !== started) continue;
    ending.set(pid, started);
    found = killNow(-pid) || found;
  }
  for (let round = 0; round < 20; round += 1) {
    for (const [pid, started] of ending) if ((await processStart(pid)) !== started) ending.delete(pid);
    const marked = await markedProcesses(name);
    if (marked.length === 0 && ending.size === 0) return found;
    for (const pid of marked) {
      const started = await processStart(pid);
      if (started !== undefined) ending.set(pid, started);
      found = killNow(pid) || found;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Fault('sandbox', `processes of sandbox ${name} do not end`);
}

/** A sandbox's folder is there before its first process and goes after its last. */
async function folders(home: string): Promise<readonly LivingSandbox[]> {
  try {
    const names = await readdir(join(home, 'sandboxes'));
    return await Promise.all(
      names.map(async (name) => {
        const { worker } = (await readRecord(join(home, 'sandboxes', name))) ?? {};
        return worker === undefined ? { name } : { name, worker };
      }),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function folderOf(home: string, name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$/.test(name)) {
    throw new Fault('sandbox', `"${name}" cannot be a sandbox name`, { retry: false });
  }
  return join(home, 'sandboxes', name);
}
