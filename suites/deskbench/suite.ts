/**
 * `deskbench`: the built-in suite. 150 candidates for training (12 templates) and 48 benchmark tasks (18 templates,
 * 6 of them never trained on) at three desks, each desk an MCP server of its own.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Fault, UsageError } from '../../core/faults.js';
import type { Json, ToolSpec } from '../../core/message.js';
import { nearestFew } from '../../core/nearest.js';
import type { ServerSpec, ToolSession } from '../../core/sandbox.js';
import type { Suite, Task } from '../../core/suite.js';
import { type DeskEntry, deskEntries } from './entries.js';
import { gradeDesk } from './grade.js';
import { sha256, systemMessage } from './scene.js';
import { DONE_MARKER } from './script.js';
import { connectInline, EFFECTS_TOOL, INIT_TOOL, RESERVED_PREFIX } from './server.js';
import { DOMAINS, type DomainName } from './world/domains.js';
import { argumentSchema } from './world/tool.js';

export const SUITE_NAME = 'deskbench';
/** Raised by hand whenever a tool answers or changes the tables differently; part of the suite's digest. */
const WORLD_VERSION = 4;
/** Generous for a loaded machine: importing the MCP server SDK takes half a CPU-second in a fresh process. */
const START_TIMEOUT_MS = 30_000;
const RESERVED_TIMEOUT_MS = 10_000;
const MAX_AGENT_ACTIONS = 12;
const MAX_USER_TURNS = 3;

/** Where `npm run build` puts the stdio entry, seen from the built file or from the source; images are made of it too. */
export function stdioEntry(): string {
  const here = fileURLToPath(import.meta.url);
  const beside = join(dirname(here), 'stdio.js');
  return existsSync(beside) ? beside : join(dirname(here), '../../dist/suites/deskbench/stdio.js');
}

function serverSpec(domain: DomainName, image: string): ServerSpec {
  return {
    name: domain,
    inline: () => connectInline(domain),
    command: { file: process.execPath, args: [stdioEntry(), domain], env: {} },
    container: { image, args: [domain], env: {} },
    startTimeoutMs: START_TIMEOUT_MS,
  };
}

async function reserved(
  tools: ToolSession,
  domain: string,
  tool: string,
  args: { [key: string]: Json },
  signal: AbortSignal,
) {
  const result = await tools.call(domain, tool, args, { signal, timeoutMs: RESERVED_TIMEOUT_MS });
  if (result.isError)
    throw new Fault('suite', `${tool} of the ${domain} desk answered an error: ${result.text}`);
  return result.text;
}

function hydrate({ ref, task }: DeskEntry, image: string): Task {
  const { domain } = task.template;
  const context = Object.entries(task.facts)
    .map(([label, value]) => `${label}: ${value}`)
    .join('\n');
  return {
    ref,
    servers: [serverSpec(domain, image)],
    systemMessages: [systemMessage(domain)],
    user: { opening: task.opening, context, maxTurns: MAX_USER_TURNS, mayEnd: context !== '' },
    doneMarker: DONE_MARKER,
    maxAgentActions: MAX_AGENT_ACTIONS,
    async init(tools, signal) {
      await reserved(tools, domain, INIT_TOOL, { state: task.scene.start }, signal);
    },
    async visibleTools(tools, signal): Promise<readonly ToolSpec[]> {
      const listed = await tools.list(signal);
      return listed
        .filter((tool) => !tool.name.startsWith(RESERVED_PREFIX))
        .map(({ server: _, ...spec }) => spec);
    },
    async effects(tools, signal) {
      const text = await reserved(tools, domain, EFFECTS_TOOL, {}, signal);
      try {
        return { [domain]: JSON.parse(text) as Json };
      } catch (error) {
        throw new Fault(
          'sandbox',
          `${EFFECTS_TOOL} of the ${domain} desk: expected JSON, found "${text.slice(0, 80)}"`,
          {
            cause: error,
          },
        );
      }
    },
    grade: (input) => gradeDesk(task, input),
    expectedEffects: () => ({ [domain]: task.expected }),
  };
}

export function createDeskbench(): Suite {
  const entries = deskEntries();
  const byId = new Map(entries.map((entry) => [entry.ref.id, entry]));
  const code = Object.entries(DOMAINS).map(([domain, tools]) => [
    domain,
    tools.map((tool) => [tool.name, tool.description, argumentSchema(tool)]),
  ]);
  const digest = sha256(
    JSON.stringify([WORLD_VERSION, code, entries.map(({ ref }) => [ref.id, ref.digest])]),
  );
  const image = imageName(digest);
  return {
    name: SUITE_NAME,
    digest,
    isolation: 'inline',
    images: [image],
    tasks: async () => entries.map(({ ref }) => ref),
    async load(taskId) {
      const entry = byId.get(taskId);
      if (!entry) throw unknownTask(taskId, [...byId.keys()]);
      return hydrate(entry, image);
    },
    close: async () => {},
  };
}

/** Another version of the desks has another name, so that an image of an old one is missing and never used. */
function imageName(digest: string): string {
  return `steadfast/${SUITE_NAME}:${digest.replace('sha256:', '').slice(0, 12)}`;
}

function unknownTask(id: string, known: readonly string[]): UsageError {
  const near = nearestFew(id, known, 3);
  const examples = near.length > 0 ? near : known.slice(0, 3);
  return new UsageError('task', `a task of ${SUITE_NAME}, e.g. ${examples.join(', ')}`, `"${id}"`);
}
