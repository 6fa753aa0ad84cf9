/** Runs `steadfast select` in this process, as the command line registers it, in a temporary folder. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { registerSelect } from '../../cli/select.js';
import type { Ledger } from '../../core/ledger.js';

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'steadfast-select-'));
}

export interface SelectRun {
  readonly out: string;
  readonly err: string;
}

/** Rejects with what the command throws. `ledger` serves `--campaign`. */
export async function runSelectCommand(args: readonly string[], ledger?: Ledger): Promise<SelectRun> {
  let out = '';
  let err = '';
  const program = new Command().exitOverride().configureOutput({ writeErr: (text) => (err += text) });
  registerSelect(program, {
    programVersion: '0.0.0-test',
    loadLedger: async () => {
      if (!ledger) throw new Error('this test has no ledger');
      return { ledger, close: async () => {} };
    },
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  await program.parseAsync(['select', ...args], { from: 'user' });
  return { out, err };
}
