/** Before any test: `dist/` is that of the sources, since tests that start processes start them from there. */
import { build } from '../infra/setup/build.mjs';

export async function setup(): Promise<void> {
  await build({ log: (line) => process.stderr.write(`› ${line}\n`) });
}
