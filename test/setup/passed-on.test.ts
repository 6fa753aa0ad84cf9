/** Which variables of whoever types `up` the workers get. */
import { expect, it } from 'vitest';
import { passedOn } from '../../infra/stack/passed-on.js';

it('takes what is set now, keeps what the running stack was given, and nothing else', () => {
  const running = { THINKINGBOX_DIR: '/old', STEADFAST_JUDGE_URL: 'http://judge/v1' };
  const env = {
    THINKINGBOX_DIR: '/new',
    STEADFAST_USER_MODEL: 'm',
    SECRET_KEY: 's',
    STEADFAST_JUDGE_URL: '',
  };
  expect(passedOn(env, running)).toEqual({
    THINKINGBOX_DIR: '/new',
    STEADFAST_USER_MODEL: 'm',
    STEADFAST_JUDGE_URL: 'http://judge/v1',
  });
  expect(passedOn({})).toEqual({});
});

it('says the same in the same order, whatever the order of the environment: it is part of a fingerprint', () => {
  const [a, b] = [{ THINKINGBOX_DIR: 'd' }, { STEADFAST_USER_URL: 'u' }];
  expect(JSON.stringify(passedOn({ ...a, ...b }))).toBe(JSON.stringify(passedOn({ ...b, ...a })));
});
