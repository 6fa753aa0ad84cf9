/** `suite check` put together: the suite, its oracle, real inline sandboxes, rule-based user and judge. */
import { createInlineDriver } from '../activities/sandbox/inline.js';
import { UsageError } from '../core/faults.js';
import { checkSuite, type SuiteCheckReport } from '../suites/check.js';
import { createDeskOracle, ruleJudge, ruleUser } from '../suites/deskbench/check.js';
import { suiteRegistry } from './suites.js';

/** Throws `UsageError` for a suite that brings no oracle. */
export async function openSuiteCheck(
  name: string,
  onTask: (done: number, all: number) => void,
): Promise<SuiteCheckReport> {
  if (name !== 'deskbench')
    throw new UsageError('suite check', 'a suite with an oracle: deskbench', `"${name}"`);
  const suite = await suiteRegistry()(name);
  try {
    return await checkSuite(suite, {
      driver: createInlineDriver(),
      oracle: createDeskOracle(),
      answer: ruleUser,
      judge: ruleJudge,
      signal: new AbortController().signal,
      onTask,
    });
  } finally {
    await suite.close();
  }
}
