/** A configuration as flat text, and the facts of a run that are read from it. */
import type { CampaignConfig, ModelRef } from '../../../core/campaign.js';
import type { ImportedModel } from '../../../core/results/imported.js';

const LONG_LIST = 12;

/** `section.key` → text. Long lists become their length: a report is no place for 500 task names. */
export function flatConfig(value: unknown, path = ''): Record<string, string> {
  if (Array.isArray(value)) {
    const plain = value.every((each) => typeof each !== 'object' || each === null);
    const text = value.length <= LONG_LIST && plain ? value.join(', ') || 'none' : `${value.length} entries`;
    return { [path]: text };
  }
  if (typeof value !== 'object' || value === null) return path === '' ? {} : { [path]: String(value) };
  return Object.assign(
    {},
    ...Object.entries(value).map(([key, each]) => flatConfig(each, path === '' ? key : `${path}.${key}`)),
  ) as Record<string, string>;
}

/**
 * Name of a model as price tables know it: an API model's own, `trainer` for weights that a trainer serves, `scripted`,
 * and for imported rows what the importer called it.
 */
export function modelName(model: ModelRef | ImportedModel): string {
  if (model.kind === 'imported') return model.name;
  return model.kind === 'chat' || model.kind === 'token' ? model.model : model.kind;
}

/** The model that a campaign samples from; training and pipelines sample from the trainer. */
export function modelOf(config: CampaignConfig): string {
  return config.kind === 'probe' || config.kind === 'eval' ? modelName(config.model) : 'trainer';
}
