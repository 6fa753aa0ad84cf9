/** Episodes to read: the conversation as a chat, the tool calls inside it, the verdict, and the final state. */
import type { Message } from '../../../core/message.js';
import { TERMINATIONS } from '../../../core/outcome.js';
import type { EpisodeView, StoryReport } from '../../../core/report-data.js';
import { count, plural, shortDigest } from '../format.js';
import { clip, type Html, html, type Part } from '../html.js';
import { fold, section } from './section.js';
import { stateComparison } from './state.js';

const TEXT_LIMIT = 4_000;
const MESSAGE_LIMIT = 200;

const KINDS: Readonly<Record<StoryReport['kind'], string>> = {
  solved: 'Solved',
  gained: 'Gained',
  lost: 'Lost',
  unsolved: 'Not solved',
};

function long(text: string): Part {
  const { text: shown, cut } = clip(text, TEXT_LIMIT);
  return html`${shown}${cut > 0 && html`<span class="cut"> … ${plural(cut, 'more character')} in the artifact</span>`}`;
}

function call(name: string, args: Readonly<Record<string, unknown>>): Html {
  const entries = Object.entries(args);
  return html`<div class="call" dir="ltr"><span class="fn">${name}</span><span class="paren">(</span>${entries.map(
    ([key, value], index) =>
      html`${index > 0 && html`<span class="paren">, </span>`}<span class="arg">${key}</span><span class="paren">: </span><bdi class="val">${long(typeof value === 'string' ? value : JSON.stringify(value))}</bdi>`,
  )}<span class="paren">)</span></div>`;
}

function bubble(message: Message): Html {
  switch (message.role) {
    case 'system':
      return html`<li class="turn system"><span class="who">system</span><div class="text" dir="auto">${long(message.content)}</div></li>`;
    case 'user':
      return html`<li class="turn user"><span class="who">user</span><div class="text" dir="auto">${long(message.content)}</div></li>`;
    case 'tool':
      return html`<li class="${message.isError ? 'turn tool error' : 'turn tool'}"><span class="who">${message.name}${message.isError && ' · error'}</span><div class="text mono" dir="auto">${long(message.content)}</div></li>`;
    case 'assistant':
      return html`<li class="turn assistant"><span class="who">${message.direct ? 'tool, to the user' : 'agent'}</span>${message.reasoning.trim() !== '' && html`<details class="reasoning"><summary>reasoning</summary><div class="text" dir="auto">${long(message.reasoning)}</div></details>`}${message.content.trim() !== '' && html`<div class="text" dir="auto">${long(message.content)}</div>`}${message.toolCalls.map((each) => call(each.name, each.arguments))}</li>`;
  }
}

function chat(messages: readonly Message[]): Html {
  const shown = messages.slice(0, MESSAGE_LIMIT);
  return html`<ol class="chat">${shown.map(bubble)}${messages.length > shown.length && html`<li class="cut">${plural(messages.length - shown.length, 'more message')} in the artifact</li>`}</ol>`;
}

function verdict(episode: EpisodeView): Html {
  const reasons = episode.verdict?.reasons ?? [];
  const judged = episode.verdict?.judged ?? [];
  return html`<div class="${episode.passed ? 'verdict passed' : 'verdict failed'}"><p><b>${episode.passed ? '✓ passed' : '✗ failed'}</b>${episode.termination && html` · ${TERMINATIONS[episode.termination]}`}</p>${reasons.length > 0 && html`<ul>${reasons.map((reason) => html`<li dir="auto">${long(reason)}</li>`)}</ul>`}${judged.length > 0 && html`<ul class="judged">${judged.map((each) => html`<li><span dir="auto">${long(each.question)}</span> <b>${each.answer ? 'yes' : 'no'}</b> <small>judge</small></li>`)}</ul>`}</div>`;
}

function episodeView(episode: EpisodeView): Html {
  const { usage } = episode;
  const facts: readonly (readonly [string, Part])[] = [
    ['attempt', html`<code>${episode.key}</code>`],
    [
      'tokens',
      `${count(usage.policyPromptTokens)} prompt, ${count(usage.policySampledTokens)} sampled in ${plural(usage.policyCalls, 'call')}`,
    ],
    ['seed', html`<code>${episode.seed}</code>`],
    ['weights', episode.weightVersion ? html`<code>${shortDigest(episode.weightVersion)}</code>` : '–'],
    ['trajectory', html`<code>${shortDigest(episode.trajectory)}</code>`],
  ];
  return html`<article class="episode"><h4>${episode.label}</h4><div class="columns">${chat(episode.messages)}<div class="side">${verdict(episode)}<h5>Final state</h5>${stateComparison(episode)}<dl class="mini">${facts.map(([name, text]) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl></div></div></article>`;
}

function counts(story: StoryReport): Part {
  const { before, after } = story;
  if (before && after)
    return html`<span class="nums"><span class="from">${before.passed}</span> → <b>${after.passed}</b> of ${after.attempts}</span>`;
  const one = after ?? before;
  return one && html`<span class="nums"><b>${one.passed}</b> of ${one.attempts}</span>`;
}

export function storiesSection(stories: readonly StoryReport[]): Html {
  if (stories.length === 0) return html``;
  return section(
    'episodes',
    'Episodes to read',
    'Recorded conversations, as the agent saw them. The verdict comes from the final state of the database, never from what the agent says.',
    stories.map((story, index) =>
      fold(
        html`<span class="${`tag ${story.kind}`}">${KINDS[story.kind]}</span> <span class="tid">${story.taskId}</span> ${counts(story)}`,
        story.episodes.map(episodeView),
        index === 0,
      ),
    ),
  );
}
