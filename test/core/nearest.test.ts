import { expect, it } from 'vitest';
import { nearest, nearestFew } from '../../core/nearest.js';

it('finds the word that was meant, and none when nothing is near', () => {
  expect(nearest('learnngRate', ['clip', 'learningRate', 'weightDecay'])).toBe('learningRate');
  expect(nearest('STEPS', ['steps'])).toBe('steps');
  expect(nearest('zebra', ['clip', 'learningRate'])).toBeUndefined();
});

it('gives the nearest first', () => {
  expect(nearestFew('run-12', ['run-1', 'run-13', 'other', 'run-12b'], 2)).toEqual(['run-1', 'run-13']);
});
