/** All templates; those without training wordings are never trained on. */
import { address } from './address.js';
import { broken } from './broken.js';
import { cancel, cancelTwo } from './cancel.js';
import { delay, delayTwo } from './delay.js';
import { dispute, disputeTwo } from './dispute.js';
import { fraud, fraudTold } from './fraud.js';
import { lostCard } from './lost-card.js';
import { move } from './move.js';
import { refund, refundLookup } from './refund.js';
import type { Template } from './template.js';
import { transfer } from './transfer.js';
import { trip } from './trip.js';
import { upgrade, upgradeLookup } from './upgrade.js';

export const TEMPLATES: readonly Template[] = [
  refund,
  upgrade,
  lostCard,
  cancel,
  trip,
  dispute,
  address,
  move,
  transfer,
  broken,
  delay,
  fraud,
  refundLookup,
  upgradeLookup,
  fraudTold,
  cancelTwo,
  delayTwo,
  disputeTwo,
];

export const trainedTemplates = TEMPLATES.filter((template) => template.wordings.train.length > 0);

/** Names of the templates that occur only in the benchmark: what a trained policy does on kinds of tasks it never saw. */
export const heldOutTemplates: readonly string[] = TEMPLATES.filter(
  (template) => template.wordings.train.length === 0,
).map((template) => template.name);
