/** Content-addressed files. The digest is the name: writing the same bytes twice is one file. */

/** `sha256:` and 64 hex digits. */
export type Digest = string;

export interface ArtifactStore {
  /** Durable when it returns: written to a temporary file, synced, renamed. Throws `Fault('artifacts')`, e.g. on a full disk. */
  put(bytes: Uint8Array): Promise<Digest>;
  /** Throws `Fault('artifacts', code: 'missing' | 'corrupt')`, naming digest and path; never returns wrong bytes. */
  get(digest: Digest): Promise<Uint8Array>;
  has(digest: Digest): Promise<boolean>;
  /** Local path for programs that read by reference (the trainer). Throws when the store is not local. */
  path(digest: Digest): string;
  /** Recomputes the digest. */
  verify(digest: Digest): Promise<'ok' | 'missing' | 'corrupt'>;
}
