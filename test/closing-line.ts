/** Last line of every test run, for people and for machines that read it: `N passed, N failed, N skipped`. */
import type { Reporter, TestModule } from 'vitest/node';

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let [passed, failed, skipped] = [0, unhandledErrors.length, 0];
    for (const module of modules) {
      // A file that could not be loaded has no tests to fail, and has failed.
      if (module.errors().length > 0) failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed++;
        else if (state === 'failed') failed++;
        else skipped++;
      }
    }
    // After the default reporter's own summary.
    process.once('exit', () =>
      process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`),
    );
  }
}
