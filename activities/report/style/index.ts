/** The whole style sheet of a report. */
import { CHARTS } from './charts.js';
import { COMPARISON } from './comparison.js';
import { EPISODES } from './episodes.js';
import { LAYOUT } from './layout.js';
import { MEDIA } from './media.js';
import { NIGHTLY } from './nightly.js';
import { TOKENS } from './tokens.js';

export const STYLE = [TOKENS, LAYOUT, CHARTS, EPISODES, COMPARISON, NIGHTLY, MEDIA].join('\n');
