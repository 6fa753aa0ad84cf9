/**
 * The engine's attached stream: frames of standard output and standard error in one. A frame is 8 bytes of header
 * (stream, three zeros, length as a big-endian 32-bit number) and that many bytes.
 *
 * Parts of a frame are passed on as they come: nothing is held but a header that is not whole yet.
 */
const HEADER_BYTES = 8;
const STDOUT = 1;
const STDERR = 2;

export class Frames {
  private readonly header = Buffer.alloc(HEADER_BYTES);
  private headerBytes = 0;
  private left = 0;

  constructor(
    private readonly to: { readonly stdout: (part: Buffer) => void; readonly stderr: (part: Buffer) => void },
  ) {}

  /** Throws an `Error` at a header of another form: it is not that stream. */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.left === 0) {
        const taken = Math.min(HEADER_BYTES - this.headerBytes, chunk.length - at);
        chunk.copy(this.header, this.headerBytes, at, at + taken);
        this.headerBytes += taken;
        at += taken;
        if (this.headerBytes < HEADER_BYTES) return;
        this.left = this.length();
        // A frame without bytes has no second part that would do it.
        if (this.left === 0) this.headerBytes = 0;
        continue;
      }
      const part = chunk.subarray(at, at + this.left);
      at += part.length;
      this.left -= part.length;
      if (this.left === 0) this.headerBytes = 0;
      if (this.header[0] === STDOUT) this.to.stdout(part);
      else this.to.stderr(part);
    }
  }

  private length(): number {
    const [stream, ...zeros] = this.header.subarray(0, 4);
    if ((stream === STDOUT || stream === STDERR) && zeros.every((byte) => byte === 0)) {
      return this.header.readUInt32BE(4);
    }
    throw new Error(
      `expected a frame of the engine's stream, found the bytes ${this.header.toString('hex')}`,
    );
  }
}
