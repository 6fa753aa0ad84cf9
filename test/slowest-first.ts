/**
 * The order of test files: those that start a stack or an engine first. Two cores are busy to the end then, where a minute
 * of one file would be left over. Nothing is known of earlier runs in a clean clone.
 */
import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SLOW = /\b(?:startStack|engineWithDesks|ownEngine|await chaos)\b/;

export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const slow = new Set(sorted.filter(({ moduleId }) => SLOW.test(readFileSync(moduleId, 'utf8'))));
    return [...slow, ...sorted.filter((file) => !slow.has(file))];
  }
}
