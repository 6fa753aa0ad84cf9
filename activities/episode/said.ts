/**
 * What a model that plays a part really says, without what it says around it: its thoughts, a label in front, quotes
 * around the whole, and a dialogue that it goes on to write for both sides.
 */

/** Who may be announced in front of the user's words, in any of the languages that models answer in. */
const NAMES = [
  ...['simulated user', 'user', 'customer', 'client', 'caller', 'human', 'you', 'assistant', 'system'],
  ...['usuario', 'usuaria', 'usuário', 'usuária', 'cliente', 'utente', 'utilisateur', 'utilisatrice'],
  ...['benutzer', 'benutzerin', 'nutzer', 'nutzerin', 'kunde', 'kundin', 'gebruiker', 'klant'],
  ...['użytkownik', 'klient', 'пользователь', 'клиент', 'kullanıcı', 'müşteri', 'المستخدم', 'العميل'],
  ...['用户', '用戶', '顾客', '客户', '客戶', 'ユーザー', 'お客様', '顧客', '사용자', '고객'],
];
/** `User:`, `**User**:`, `**User:**`, `[user]:`, `### Customer：`, `Client :`. */
const LABEL = new RegExp(
  `^(?:#+\\s*)?[*_[(<]{0,3}(?:${NAMES.join('|')})\\s*[*_\\])>]{0,3}\\s*[:：]\\s*[*_]{0,3}\\s*`,
  'iu',
);
/** A line that gives the word back to the agent: it and what follows is not the user's. */
const OTHER_SIDE =
  /\n\s*[*_[(<]{0,3}(?:agent|assistant|service agent|support)\s*[*_\])>]{0,3}\s*[:：][\s\S]*$/i;

const QUOTES: readonly (readonly [open: string, close: string])[] = [
  ['"', '"'],
  ["'", "'"],
  ['“', '”'],
  ['‘', '’'],
  ['„', '“'],
  ['«', '»'],
  ['「', '」'],
  ['『', '』'],
];
/** As in "don't": no quotation. */
const APOSTROPHE = /(?<=\p{L})['’](?=\p{L})/gu;

/** The answer without the thoughts before it; nothing where it was cut off in its thoughts. */
export function withoutThoughts(text: string): string {
  const end = text.lastIndexOf('</think>');
  if (end >= 0) return text.slice(end + '</think>'.length).trim();
  return text.trimStart().startsWith('<think>') ? '' : text.trim();
}

/** Labels and quotes go only from around the whole; inside they are the message's own. */
export function spoken(text: string): string {
  let said = withoutThoughts(text);
  for (;;) {
    const before = said;
    said = unquoted(said.replace(LABEL, '').trim());
    if (said === before) break;
  }
  return said.replace(OTHER_SIDE, '').trim();
}

function unquoted(said: string): string {
  for (const [open, close] of QUOTES) {
    if (said.length < 2 || !said.startsWith(open) || !said.endsWith(close)) continue;
    const inner = said.slice(1, -1);
    const bare = inner.replace(APOSTROPHE, '');
    // `"no" or "yes"` is not one quotation.
    if (!bare.includes(open) && !bare.includes(close)) return inner.trim();
  }
  return said;
}
