/** The three desks by name. One MCP server serves one desk. */
import { bankTools } from './bank.js';
import { retailTools } from './retail.js';
import { cloneTables, type Tables } from './tables.js';
import type { DeskTool, ToolArguments } from './tool.js';
import { travelTools } from './travel.js';

export const DOMAINS = { retail: retailTools, travel: travelTools, bank: bankTools } as const;
export type DomainName = keyof typeof DOMAINS;
export const DOMAIN_NAMES = Object.keys(DOMAINS) as readonly DomainName[];

export function isDomain(name: string): name is DomainName {
  return name in DOMAINS;
}

const toolsByName: Readonly<Record<DomainName, ReadonlyMap<string, DeskTool>>> = {
  retail: new Map(retailTools.map((tool) => [tool.name, tool])),
  travel: new Map(travelTools.map((tool) => [tool.name, tool])),
  bank: new Map(bankTools.map((tool) => [tool.name, tool])),
};

export function toolOf(domain: DomainName, name: string): DeskTool | undefined {
  return toolsByName[domain].get(name);
}

/** One change that a task wants. */
export interface Write {
  readonly tool: string;
  readonly args: ToolArguments;
}

/** The tables after `writes`, on a copy. Throws when a write is impossible: then the task itself is wrong. */
export function applyWrites(domain: DomainName, start: Tables, writes: readonly Write[]): Tables {
  const tables = cloneTables(start);
  for (const write of writes) {
    const tool = toolOf(domain, write.tool);
    if (!tool?.writes) throw new Error(`${write.tool} is not a write of the ${domain} desk`);
    tool.run(tables, write.args);
  }
  return tables;
}
