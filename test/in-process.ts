/** The command line run in this process, with what it writes; `vi.restoreAllMocks` gives the streams back. */
import { vi } from 'vitest';
import { main } from '../cli/main.js';
import type { Ran } from './replay/command.js';

export async function inProcess(...args: readonly string[]): Promise<Ran> {
  let [out, err] = ['', ''];
  process.exitCode = 0;
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
  const code = await main([...args]);
  return { code, out, err };
}
