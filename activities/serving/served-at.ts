/** Where weights are samplable now, as the keeper of their server has noted it. */
import type { Servings } from '../../core/serving/servings.js';
import type { ServedAt } from '../episode/policies.js';

export function servedAt(
  servings: Pick<Servings, 'servingOf'>,
): (weightVersion: string) => Promise<ServedAt | undefined> {
  return async (weightVersion) => {
    const row = await servings.servingOf(weightVersion);
    return row?.endpoint && row.modelFiles
      ? { endpoint: row.endpoint, modelFiles: row.modelFiles }
      : undefined;
  };
}
