/**
 * Two kinds of test files, told apart by what stands in them. Those that start a stack or an engine begin first, and
 * those that change what belongs to the process have one for themselves; all others share, each with its modules loaded
 * once a process instead of once a file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

const STARTS_MUCH = /\b(?:startStack|engineWithDesks|ownEngine|await chaos)\b/;
const CHANGES_PROCESS =
  /process\.env(?:\.[A-Z_]+|\[[^\]]+\]) *=[^=]|delete process\.env|process\.chdir|withVariables|Runtime\.install|vi\.(?:mock|stubEnv|useFakeTimers)|in-process\.js|setup\/harness\.js|'\.\/harness\.js/;

/** Tests that start a stack or an engine: most of a minute each. */
export function startsMuch(file: string): boolean {
  return STARTS_MUCH.test(readFileSync(file, 'utf8'));
}

/** Paths from the root, since they are read as patterns, by whether a file may run in a process where others have run. */
export function testFiles(): { readonly sharing: string[]; readonly alone: string[] } {
  const root = join(import.meta.dirname, '..');
  const sharing: string[] = [];
  const alone: string[] = [];
  for (const item of readdirSync(import.meta.dirname, { recursive: true, withFileTypes: true })) {
    if (!item.isFile() || !item.name.endsWith('.test.ts')) continue;
    const file = join(item.parentPath, item.name);
    const kind = startsMuch(file) || CHANGES_PROCESS.test(readFileSync(file, 'utf8')) ? alone : sharing;
    kind.push(relative(root, file).split(sep).join('/'));
  }
  return { sharing, alone };
}
