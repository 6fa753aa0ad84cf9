/** How result files lie on disk: gzipped, from Windows, damaged, mixed; and conversations in either form. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { readResultFiles } from '../../activities/report/results-files.js';
import { readMessages } from '../../core/results/messages.js';

const folder = mkdtempSync(join(tmpdir(), 'steadfast-result-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const row = (name: string, repetition: number) =>
  JSON.stringify({
    messages: [{ T: 'Text', role: 'user', content: 'Grüße 🙂', metadata: {} }],
    test_result: { result: true },
    metadata: { scenario: 'retail', test_case_file: 'shop.py', test_case_name: name, repetition },
    is_system_error: false,
    finish_reason: 'done',
  });
const rows = ['a', 'b'].flatMap((name) => [row(name, 0), row(name, 1)]);

async function read(name: string, bytes: string | Uint8Array, taskIds = ['shop.py:a', 'shop.py:b']) {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  const { results, files } = await readResultFiles([file]);
  const plan = { taskIds, repeat: 2, allowIncomplete: true, systemErrorsAsFailed: false };
  return { ...results.summary(plan), files };
}

it.each([
  ['plain', `${rows.join('\n')}\n`],
  ['without a last line end', rows.join('\n')],
  ['with a byte order mark and carriage returns', `\ufeff${rows.join('\r\n')}\r\n`],
  ['with blank lines', `\n${rows.join('\n \n\t\n')}\n\n`],
  ['gzipped', gzipSync(rows.join('\n'))],
  ['gzipped in several parts', Buffer.concat(rows.map((line) => gzipSync(`${line}\n`)))],
])('reads rows %s', async (name, bytes) => {
  const { coverage, files } = await read(name, bytes);
  expect(coverage).toMatchObject({ clean: 4, complete: true });
  expect(files[0]?.bytes).toBe(Buffer.byteLength(bytes));
});

it.each([
  ['cut off', rows.join('\n').slice(0, -20), /cut off:4: expected one whole JSON object on the line/],
  ['lists', `${rows[0]}\n[1]\n`, /lists:2: expected a JSON object, found \[1\]/],
  ['other bytes', Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), /other bytes:1: expected UTF-8 text/],
  ['gzip cut off', gzipSync(rows.join('\n')).subarray(0, 120), /gzip cut off:\d: expected a whole gzip file/],
  ['gzip damaged', gzipSync(rows.join('\n')).fill(7, 60, 90), /gzip damaged:\d: expected a whole gzip file/],
])('refuses a file that is %s, with its line', async (name, bytes, message) => {
  await expect(read(name, bytes)).rejects.toThrow(message);
});

it('names what is there of another list, and what is not there of this one', async () => {
  const { coverage, scores } = await read('mixed', rows.join('\n'), ['shop.py:a', 'other.py:z']);
  expect(coverage.unexpected).toEqual(['shop.py:b · 0', 'shop.py:b · 1']);
  expect(coverage.missing).toEqual(['other.py:z · 0', 'other.py:z · 1']);
  expect(scores?.[0]).toMatchObject({ tasks: 1, attempts: 2 });
});

it('an empty file is readable: everything is missing, nothing is scored', async () => {
  expect(await read('empty', '')).toMatchObject({
    rows: 0,
    scores: null,
    coverage: { clean: 0, complete: false },
  });
});

it('reads conversations in either form alike', () => {
  const tagged = readMessages([
    { T: 'Text', role: 'user', content: 'Hi', metadata: {} },
    { T: 'Text', role: 'assistant', content: 'I look.', metadata: { tag: 'think' } },
    { T: 'Text', role: 'assistant', content: 'One moment.', metadata: {} },
    { T: 'ParallelToolCall', tool_calls: [{ T: 'ToolCall', name: 'find', arguments: { id: 7 }, id: 'c1' }] },
    { T: 'ToolResponse', name: 'find', content: '{"error": "no such order"}', id: 'c1' },
    { T: 'Text', role: 'assistant', content: 'None. <DONE>', metadata: {} },
  ]);
  const byRole = readMessages([
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      reasoning_content: 'I look.',
      content: 'One moment.',
      tool_calls: [{ id: 'c1', function: { name: 'find', arguments: '{"id": 7}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"error": "no such order"}' },
    { role: 'assistant', content: 'None. <DONE>' },
  ]);
  expect(byRole).toEqual(tagged);
  expect(tagged).toMatchObject({ toolCalls: 1, toolErrors: 1, turns: 2, unread: 0 });
});

it('counts failed calls by what is said of them, and leaves out what is no message', () => {
  const call = (id: string, change = {}) => ({ T: 'ToolCall', name: 'find', arguments: {}, id, ...change });
  const answer = (id: string, content: string) => ({ T: 'ToolResponse', name: 'find', content, id });
  const read = readMessages([
    call('a'),
    answer('a', '{"status": "ok", "error": null}'),
    call('b', { metadata: { error: 'Error: bad JSON' } }),
    answer('b', 'anything'),
    call('c'),
    answer('c', 'Error calling tool'),
    call('d'),
    answer('d', 'Errors are rare in this shop'),
    { T: 'Other' },
    7,
  ]);
  expect(read).toMatchObject({ toolCalls: 4, toolErrors: 2, unread: 2 });
  expect(readMessages([])).toBeNull();
});
