import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip, escapeHtml, html, raw } from '../../activities/report/html.js';

/** Undoes exactly the five entities. */
function plain(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

describe('escaping', () => {
  it('leaves no character that can start or end markup, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const escaped = escapeHtml(text);
        expect(escaped).not.toMatch(/[<>"']/);
        expect(escaped).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
        expect(escaped).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(escaped).not.toMatch(/\p{Cs}/u);
      }),
    );
  });

  it('gives ordinary text back unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!/[\p{Cc}\p{Cf}]/u.test(text));
        expect(plain(escapeHtml(text))).toBe(text);
      }),
    );
  });

  it('shows what would be invisible', () => {
    expect(escapeHtml('a\0b')).toBe('a␀b');
    expect(escapeHtml('\u202egnp.exe')).toBe('[U+202E]gnp.exe');
    expect(escapeHtml('\x1b[31mred\x7f')).toBe('␛[31mred␡');
    expect(escapeHtml('\ud800')).toBe('\ufffd');
    expect(escapeHtml('one\r\ntwo\tthree')).toBe('one\ntwo\tthree');
  });

  it('interpolates: text escaped, markup as it is, nothing for nothing', () => {
    const inner = html`<b>${'<i>'}</b>`;
    expect(html`<p title="${'"'}">${inner}${[1, null, false, undefined, 'x']}</p>`.text).toBe(
      '<p title="&quot;"><b>&lt;i&gt;</b>1x</p>',
    );
    expect(html`${raw('<hr>')}`.text).toBe('<hr>');
  });

  it('clips between characters and says how much is gone', () => {
    expect(clip('abc', 3)).toEqual({ text: 'abc', cut: 0 });
    expect(clip('a😀b', 2)).toEqual({ text: 'a', cut: 3 });
  });
});
