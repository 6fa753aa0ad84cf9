/** A suite for as long as a configuration is made of it: some hold a process, which would hold the command. */
import type { Suite } from '../../core/suite.js';
import { DEFAULT_SUITE } from './resolve.js';

export async function withSuite<T>(name: string | undefined, work: (suite: Suite) => Promise<T>): Promise<T> {
  const { suiteRegistry } = await import('../../workers/suites.js');
  const suite = await suiteRegistry()(name ?? DEFAULT_SUITE);
  try {
    return await work(suite);
  } finally {
    await suite.close();
  }
}
