/** Gives an image archive to a Docker engine. */
import { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { ImageArchive } from './archive.js';

/** The id by which the engine knows it. Rejects with the engine's own words when it does not take the archive. */
export async function loadImage(docker: Docker, { bytes }: ImageArchive, tag: string): Promise<string> {
  const said = await docker.loadImage(Readable.from([bytes]));
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(said, (error, lines: { readonly error?: string }[] = []) => {
      const wrong = error?.message ?? lines.find((line) => line.error !== undefined)?.error;
      if (wrong === undefined) resolve();
      else reject(new Error(`the engine does not take the image: ${wrong}`));
    });
  });
  // An engine may name images otherwise than by their configuration (containerd's store does).
  return (await docker.getImage(tag).inspect()).Id;
}
