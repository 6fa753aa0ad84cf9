/** Verl's settings as the command line that starts it, and as text that two runs are compared by. Pure. */
import type { VerlSettings, VerlValue } from './settings.js';

/** The program whose settings these are. */
const MODULE = 'verl.trainer.main_ppo';

/** One argument for each setting, in their order. */
export function verlArguments(settings: VerlSettings): readonly string[] {
  return Object.entries(settings).map(([name, value]) => `${name}=${hydra(value)}`);
}

/** The process of the first host. */
export function verlCommand(python: string, settings: VerlSettings): readonly string[] {
  return [python, '-m', MODULE, ...verlArguments(settings)];
}

/** The same for a shell, one argument a line. */
export function shellText(command: readonly string[]): string {
  return command.map(quoted).join(' \\\n  ');
}

/** Plain words stand alone; everything else in single quotes. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A value in the grammar of Hydra's overrides. */
function hydra(value: VerlValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return number(value);
  if (typeof value === 'string') return text(value);
  return `[${value.map(text).join(',')}]`;
}

/** JSON's `1e-7` is text to YAML, which wants a point in it: `1.0e-7`. */
function number(value: number): string {
  return String(value).replace(/^(-?\d+)e/, '$1.0e');
}

/** Quoted where Hydra would read something else than this text. */
function text(value: string): string {
  const plain = /^[A-Za-z_/.][\w/.@:+-]*$/.test(value) && !/^(null|true|false|nan|inf)$/i.test(value);
  return plain ? value : `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** The settings as nested YAML keys, as Verl's own configuration files have them. */
export function verlTree(settings: VerlSettings): Tree {
  const root: Tree = {};
  for (const [name, value] of Object.entries(settings)) {
    const path = name.replace(/^\+/, '').split('.');
    let at = root;
    for (const key of path.slice(0, -1)) {
      const below = at[key];
      if (isTree(below)) at = below;
      else {
        const made: Tree = {};
        at[key] = made;
        at = made;
      }
    }
    at[path.at(-1)!] = value;
  }
  return root;
}

export interface Tree {
  [key: string]: Tree | VerlValue;
}

function isTree(value: Tree | VerlValue | undefined): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
