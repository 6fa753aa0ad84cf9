/** The end of a container. */
import type { Container } from 'dockerode';

/** Kills it and takes its file system away. Throws when the engine does not say that it is gone. */
export async function remove(container: Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true });
  } catch (error) {
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === 404) return;
    // Somebody else removes it: wait until that is done.
    if (statusCode === 409) await container.wait({ condition: 'removed' }).catch(unlessGone);
    else throw error;
  }
}

function unlessGone(error: unknown): void {
  if ((error as { statusCode?: number }).statusCode !== 404) throw error;
}
