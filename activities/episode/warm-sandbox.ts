/** A sandbox that was started ahead, for a try that is about to begin: its name must be known before that. */
import type { SandboxDriver, WarmSandbox } from '../../core/sandbox.js';
import type { Task } from '../../core/suite.js';

/** Undefined where none waits. Never throws: what fails here fails again, and is said, when a sandbox is created. */
export async function takeWarm(
  driver: SandboxDriver,
  loading: Promise<Task>,
  expiresAt: string,
): Promise<WarmSandbox | undefined> {
  try {
    const { servers } = await loading;
    return await driver.take?.({ servers, expiresAt });
  } catch {
    return undefined;
  }
}
