/**
 * Our rendering against that of a serving engine (Python: transformers, jinja2, tokenizers), byte for byte.
 *
 *   npm run compare:render                          300 conversations a model, about 3 minutes, 350 MB on disk at first
 *   npm run compare:render -- --count 2000 --seed 7
 *   npm run compare:render -- --record              writes test/render/vectors/parity.json
 *
 * One JSON document on standard output, progress on standard error. Exit code 1 when anything differs.
 */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { Renderer } from '../../core/render/renderer.js';
import { findPython, pipInstall } from '../../infra/setup/python.mjs';
import { ROOT } from '../../infra/setup/root.mjs';
import { type Answer, compare, type Difference, requests, type Tally } from './compare.js';
import { type Conversation, conversation } from './conversations.js';
import { MODEL_NAMES, type ModelName, modelFiles, modelFolder } from './models.js';
import { digestOf } from './vectors.js';

interface Flags {
  readonly count: string;
  readonly seed: string;
  readonly record?: true;
}

/** Conversations of the recorded vectors. */
const RECORDED = 40;
const SHOWN_DIFFERENCES = 20;

const program = new Command('compare:render')
  .option('--count <n>', 'conversations a model', '300')
  .option('--seed <n>', 'of the conversations', '1')
  .option('--record', `write the digests of the first ${RECORDED} as vectors for the tests`);
const flags = program.parse().opts<Flags>();
const count = Number(flags.count);
const seed = Number(flags.seed);

const python = environment();
const results: (Tally & { model: ModelName; differences: number; shown: Difference[] })[] = [];
const vectors: Record<string, string[]> = {};
for (const model of MODEL_NAMES) {
  process.stderr.write(`${model}: ${count} conversations\n`);
  const tally: Tally = { prompts: 0, tokens: 0, deltas: 0, refused: 0 };
  const differences: Difference[] = [];
  const renderer = new Renderer(modelFiles(model));
  const engine = startEngine(model);
  for (let index = 0; index < count; index++) {
    const made = conversation(seed, index);
    const answers = await ask(engine, made);
    differences.push(...compare(renderer, made, answers, tally));
    if (index < RECORDED)
      vectors[model] = [
        ...(vectors[model] ?? []),
        digestOf(answers.map((answer) => ('error' in answer ? undefined : answer.ids))),
      ];
  }
  engine.child.stdin.end();
  results.push({
    model,
    ...tally,
    differences: differences.length,
    shown: differences.slice(0, SHOWN_DIFFERENCES),
  });
}
process.stdout.write(`${JSON.stringify({ seed, count, results }, null, 2)}\n`);
if (flags.record) {
  const folder = path.join(ROOT, 'test', 'render', 'vectors');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'parity.json'), `${JSON.stringify({ seed, ids: vectors }, null, 2)}\n`);
}
process.exitCode = results.some(({ differences }) => differences > 0) ? 1 : 0;

interface Engine {
  readonly child: ChildProcessWithoutNullStreams;
  readonly lines: AsyncIterator<string>;
}

function startEngine(model: ModelName): Engine {
  const child = spawn(python, [path.join(ROOT, 'native', 'render-parity', 'render.py')], {
    stdio: 'pipe',
    env: { ...process.env, TRANSFORMERS_VERBOSITY: 'error' },
  });
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { config } = modelFiles(model);
  const tokenizer = path.join(modelFolder(model), 'tokenizer.json');
  child.stdin.write(`${JSON.stringify({ tokenizer, config })}\n`);
  return { child, lines };
}

async function ask({ child, lines }: Engine, made: Conversation): Promise<Answer[]> {
  const bodies = requests(made);
  if (!child.stdin.write(bodies.map((body) => `${body}\n`).join(''))) await once(child.stdin, 'drain');
  const answers: Answer[] = [];
  while (answers.length < bodies.length) {
    const line = await lines.next();
    if (line.done) throw new Error(`${python}: ended in the middle, see above`);
    answers.push(JSON.parse(line.value) as Answer);
  }
  return answers;
}

/** An environment with the pinned packages, made when it is not there. */
function environment(): string {
  const venv = path.join(ROOT, '.steadfast', 'render-parity');
  const ready = path.join(venv, 'ready');
  if (!existsSync(ready)) {
    process.stderr.write('making a virtual environment with transformers\n');
    const found = findPython();
    execFileSync(found.file, ['-m', 'venv', venv], { stdio: 'inherit' });
    const pip = pipInstall(venv, found);
    const requirements = path.join(ROOT, 'native', 'render-parity', 'requirements.txt');
    const options = ['--require-hashes', '--only-binary', ':all:', '-r', requirements];
    execFileSync(pip.file, [...pip.args, ...options], { stdio: 'inherit' });
    writeFileSync(ready, '');
  }
  return path.join(venv, 'bin', 'python');
}
