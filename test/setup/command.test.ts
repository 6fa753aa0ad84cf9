/** The frame of the command: help, suggestions, exit codes, and standard output that holds results only. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { onInterrupt } from '../../cli/interrupts.js';
import { VERBS } from '../../cli/verbs.js';
import { ROOT } from '../../infra/setup/root.mjs';

const home = mkdtempSync(join(tmpdir(), 'steadfast home '));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function steadfast(...args: string[]) {
  const { TEMPORAL_ADDRESS: _, DATABASE_URL: __, ...env } = process.env;
  const result = spawnSync(process.execPath, [join(ROOT, 'cli', 'steadfast.mjs'), ...args], {
    encoding: 'utf8',
    env: { ...env, STEADFAST_HOME: home, NO_COLOR: '1' },
  });
  return { code: result.status, out: result.stdout, err: result.stderr };
}

it('lists every verb with its summary', () => {
  const { code, out } = steadfast('--help');
  expect(code).toBe(0);
  for (const { name, group } of VERBS) {
    expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(out).toContain(`${group}:`);
  }
});

it('every verb has help of its own', async () => {
  const { Command } = await import('commander');
  for (const { name, load } of VERBS) {
    const program = new Command();
    (await load())(program);
    const verb = program.commands.find((command) => command.name() === name);
    expect(verb?.helpInformation(), name).toContain('Usage:');
    expect(verb?.description().length, name).toBeGreaterThan(10);
  }
});

it('suggests the nearest verb and option, exit code 2', () => {
  const verb = steadfast('donw');
  expect(verb.code).toBe(2);
  expect(verb.err).toContain('Did you mean down?');
  const option = steadfast('up', '--sandbox-worker', '2');
  expect(option.code).toBe(2);
  expect(option.err).toContain('--sandbox-workers');
});

it('a verb that needs the stack says how to start it; with --json as one document', () => {
  const plain = steadfast('status');
  expect(plain).toMatchObject({ code: 2, out: '' });
  expect(plain.err).toContain('steadfast up');
  const json = steadfast('status', '--json');
  expect(json.code).toBe(2);
  expect(JSON.parse(json.out)).toMatchObject({ error: { kind: 'usage' }, exitCode: 2 });
});

it('down without a stack is done already', () => {
  expect(JSON.parse(steadfast('down', '--json').out)).toEqual({ stopped: false });
});

describe('Ctrl-C', () => {
  it('counts signals that come together as one press', () => {
    const now = vi.spyOn(performance, 'now');
    const heard: string[] = [];
    const restore = onInterrupt(
      () => heard.push('first'),
      () => heard.push('second'),
    );
    try {
      const press = (at: number): void => {
        now.mockReturnValue(at);
        process.emit('SIGINT');
      };
      press(1_000);
      press(1_001);
      expect(heard).toEqual(['first']);
      press(3_000);
      press(3_002);
      press(9_000);
      expect(heard).toEqual(['first', 'second']);
    } finally {
      restore();
      now.mockRestore();
    }
  });
});
