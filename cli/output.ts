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

let mayEnd = true;
let listening = false;

/** `head` and `less` close the pipe when they have seen enough: that is not an error. */
export function endQuietlyOnClosedPipe(): void {
  if (listening) return;
  listening = true;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (mayEnd) process.exit(0);
  });
  // Nobody hears what is going on any more; what was asked for is done all the same.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** For a verb that has to tidy up: it goes on to its end, unheard. */
export function outliveClosedPipe(): void {
  mayEnd = false;
}
