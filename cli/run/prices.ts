/** `--prices`: what tokens cost, by model; a table of its own or the `prices:` of a run file. */
import { type PriceTable, parsePriceTable } from '../../core/prices.js';
import { readYaml } from './files.js';

/** Throws `UsageError` naming file, model and field. */
export async function readPrices(file: string): Promise<PriceTable> {
  const value = await readYaml(
    file,
    `prices ${file}`,
    'YAML or JSON: model → {promptPerMillion, sampledPerMillion}',
  );
  const inner = (value as { prices?: unknown } | null)?.prices;
  return parsePriceTable(inner ?? value, `prices ${file}`);
}
