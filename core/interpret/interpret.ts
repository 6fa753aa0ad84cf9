/** Entry of the interpreter: the format by name. */
import { UsageError } from '../faults.js';
import type { OutputFormat } from './format.js';
import { hermes, hermesPlain } from './hermes.js';
import { qwen3Xml, qwen3XmlPlain } from './qwen3-xml.js';

const FORMATS: readonly OutputFormat[] = [qwen3Xml, qwen3XmlPlain, hermes, hermesPlain];

export const FORMAT_NAMES: readonly string[] = FORMATS.map(({ name }) => name);

/** Throws `UsageError` for an unknown name, listing the known ones. `place`: where the name was given. */
export function outputFormat(name: string, place = 'format'): OutputFormat {
  const format = FORMATS.find((candidate) => candidate.name === name);
  if (!format) throw new UsageError(place, FORMAT_NAMES.join(' or '), `"${name}"`);
  return format;
}
