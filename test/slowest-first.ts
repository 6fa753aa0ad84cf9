/**
 * The order of test files: those that start a stack or an engine first. Two cores are busy to the end then, where a minute
 * of one file would be left over. Nothing is known of earlier runs in a clean clone.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { startsMuch } from './kinds.js';

export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const slow = new Set(sorted.filter(({ moduleId }) => startsMuch(moduleId)));
    return [...slow, ...sorted.filter((file) => !slow.has(file))];
  }
}
