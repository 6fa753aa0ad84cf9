import { describe, expect, it } from 'vitest';
import { cell, renderMarkdown } from '../../activities/report/markdown.js';
import { demoReport, emptyReport, partialReport } from './fixture.js';
import { HOSTILE, hostile } from './hostile.js';

/** Cells of a table row; `\|` is not a border. */
function cells(line: string): number {
  return line.replaceAll('\\|', '').split('|').length;
}

describe('Markdown', () => {
  it('has the same figures as the page', () => {
    const text = renderMarkdown(demoReport());
    expect(text).toContain('9 of 48 benchmark tasks pass on every one of 20 attempts, up from 3');
    expect(text).toMatch(/\| All tasks \| 48 \| 3 \(6\.3.%\)/);
    expect(text).toContain('## Training');
    expect(text).toContain('| infrequently solved | 0.00–0.08 | 11 | no |');
    expect(text).toContain('npm run demo');
  });

  it('keeps tables rectangular and hostile text inert', () => {
    for (let turn = 0; turn < HOSTILE.length; turn += 1) {
      const text = renderMarkdown(hostile(demoReport(), turn));
      const lines = text.split('\n');
      for (const [at, line] of lines.entries()) {
        if (line.startsWith('| ') && lines[at - 1]?.startsWith('| ')) {
          expect(cells(line)).toBe(cells(lines[at - 1] ?? ''));
        }
      }
      const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '');
      expect(prose.match(/(?<!\\)<(script|img|!--)/)).toBeNull();
    }
    expect(cell('a | b\n`c` <d> [e](f) @g')).toBe('a \\| b \\`c\\` \\<d\\> \\[e\\](f) \\@g');
  });

  it('gives notice of what is missing and shows no score of it', () => {
    const text = renderMarkdown(partialReport());
    expect(text).toContain('incomplete (611 of 960 clean): no score is shown');
    expect(text).not.toContain('402');
    expect(renderMarkdown(emptyReport())).toContain('Nothing has finished yet.');
  });
});
