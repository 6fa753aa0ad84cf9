/** Proxy variables of a process, as they may be shown: without user and password. */

const NAMES = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'] as const;

/** Those that are set, in both spellings. */
export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const names = NAMES.flatMap((name) => [name.toUpperCase(), name]);
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, withoutUser(env[name])]] : [])));
}

function withoutUser(text: string): string {
  return text.replace(/\/\/[^/@\s]*@/g, '//');
}
