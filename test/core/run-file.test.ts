import { describe, expect, it } from 'vitest';
import { UsageError } from '../../core/faults.js';
import { parseRunFile } from '../../core/schemas/run-file.js';

const problem = (value: unknown): string => {
  try {
    parseRunFile(value, 'run.yaml');
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  return '';
};

describe('run file', () => {
  it('takes an empty file and a full one', () => {
    expect(parseRunFile(null, 'run.yaml')).toEqual({});
    const file = {
      suite: 'deskbench',
      seed: 7,
      model: { kind: 'trainer', checkpoint: { run: 'train/a', step: 'latest' } },
      train: { steps: 3, shape: { groups: 4 }, plan: { learningRate: 1e-4 } },
    };
    expect(parseRunFile(file, 'run.yaml')).toMatchObject(file);
  });

  it.each([
    [{ trian: {} }, 'unknown key trian (did you mean train?)'],
    [
      { train: { plan: { learningrate: 1 } } },
      'unknown key train.plan.learningrate (did you mean learningRate?)',
    ],
    [{ train: { shape: { zebra: 1 } } }, 'unknown key train.shape.zebra'],
    [{ seed: 'one' }, 'seed'],
    [{ train: { steps: 0 } }, 'train.steps'],
    [{ sampling: { topP: 1.5 } }, 'sampling.topP'],
  ])('%j is refused and names the place', (value, words) => {
    expect(problem(value)).toContain(words);
  });

  it('lists every problem at once', () => {
    const message = problem({ seed: 'x', lanes: 0, nope: 1 });
    for (const word of ['seed', 'lanes', 'nope']) expect(message).toContain(word);
  });

  it('takes how a model streams, and names what is no such way', () => {
    const model = { kind: 'chat', baseUrl: 'https://h/v1', model: 'm', apiKeyEnv: null };
    for (const stream of [true, false, 'auto']) {
      const file = { model: { ...model, stream, idleMs: 5_000 } };
      expect(parseRunFile(file, 'run.yaml')).toEqual(file);
    }
    expect(problem({ model: { ...model, stream: 'yes' } })).toContain('model.stream: expected true or false');
    expect(problem({ model: { ...model, idleMs: 0 } })).toContain('model.idleMs: expected at least 1');
    expect(problem({ model: { ...model, streem: true } })).toContain('did you mean stream');
  });

  it('refuses a secret where the name of a variable belongs', () => {
    const model = { kind: 'chat', baseUrl: 'https://h/v1', model: 'm', apiKeyEnv: 'sk-abc123' };
    expect(problem({ model })).not.toBe('');
  });
});
