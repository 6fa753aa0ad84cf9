/** What heartbeats say of an episode in the middle of a turn. */
import { expect, test } from 'vitest';
import { playEpisode } from '../../activities/episode/play.js';
import { EpisodeProgress } from '../../activities/episode/progress.js';
import { serve } from '../policy/server.js';
import { chatPolicy } from '../policy/sessions.js';
import { CHAT_SHAPES } from '../policy/shapes.js';
import { episodeParts } from './fixtures/parts.js';

test('turn and tokens, as they stream', async () => {
  const shape = CHAT_SHAPES[1]![1];
  const call = { id: 'x', name: 'put', args: '{"id":"a","count":2}' };
  const turns = [
    { reasoning: 'so', calls: [call], finish: 'tool_calls' },
    { content: 'row a has 2 . <DONE>', finish: 'stop' },
  ];
  const { baseUrl } = await serve(turns.map((turn) => ({ stream: { events: shape.chunks(turn) } })));
  const progress = new EpisodeProgress();
  expect(progress.now()).toEqual({ turn: 0, tokens: 0 });
  const seen: string[] = [];
  const note = (): void => {
    const { turn, tokens } = progress.now();
    seen.push(`${turn}:${tokens}`);
  };
  const parts = episodeParts([], { policy: chatPolicy(baseUrl, { stream: true }) });
  const { clean } = await playEpisode({
    ...parts,
    onTurn: (turn) => {
      progress.turn(turn);
      note();
    },
    onTokens: (tokens) => {
      progress.tokens(tokens);
      note();
    },
  });
  expect(clean?.verdict.passed).toBe(true);
  expect(seen.slice(0, 3)).toEqual(['1:0', '1:1', '1:2']);
  const second = seen.indexOf('2:0');
  expect(second).toBeGreaterThan(5);
  expect(seen.slice(second + 1).every((line) => line.startsWith('2:'))).toBe(true);
});
