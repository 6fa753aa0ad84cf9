/** Where this checkout lies, and where the state of the machine lives. Plain Node: runs before anything is installed. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the checkout, whether this file runs from the source tree or from its copy in `dist/`. */
export const ROOT = (() => {
  const here = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');
  return path.basename(here) === 'dist' ? path.dirname(here) : here;
})();

/** `.steadfast/` of the checkout, or `STEADFAST_HOME`. Absolute. */
export function homeFolder() {
  return path.resolve(process.env.STEADFAST_HOME || path.join(ROOT, '.steadfast'));
}

/**
 * Folders that may hold installed tools (`venv/`, `temporal-cli/`), best first: the home, then the checkout's own, so
 * that a second home on one machine does not install everything again.
 * @param {string} home
 */
export function toolFolders(home) {
  return [...new Set([home, path.join(ROOT, '.steadfast')])];
}
