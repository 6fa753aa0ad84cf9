/** Entry of the interpreter: the format by name. */
import { UsageError } from '../faults.js';
import type { OutputFormat } from './format.js';
import { hermes, hermesPlain } from './hermes.js';
import { qwen3Xml } from './qwen3-xml.js';

const FORMATS: readonly OutputFormat[] = [qwen3Xml, hermes, hermesPlain];

/** Throws `UsageError` for an unknown name, listing the known ones. */
export function outputFormat(name: string): OutputFormat {
  const format = FORMATS.find((candidate) => candidate.name === name);
  if (!format) throw new UsageError('format', FORMATS.map((f) => f.name).join(' or '), `"${name}"`);
  return format;
}
