/** Two streams: results on standard output, everything else on standard error. `--json` is one document, nothing more. */

/** A line for the person at the terminal. */
export function say(line = ''): void {
  process.stderr.write(`${line}\n`);
}

/** A result as text. */
export function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

/** The result as the one JSON document of `--json`. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** `head` and `less` close the pipe when they have seen enough: that is not an error. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}
