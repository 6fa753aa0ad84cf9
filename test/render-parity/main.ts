/**
 * Our rendering against that of a serving engine, byte for byte and id for id.
 *
 *   npm run compare:render                              300 conversations a model, some minutes, 350 MB on disk at first
 *   npm run compare:render -- --count 2000 --seed 7
 *   npm run compare:render -- --record                  writes test/render/vectors/parity.json
 *   npm run compare:render -- --vllm http://127.0.0.1:8000 --model qwen3.5
 *                                                       with a running vLLM server in place of Python's libraries
 *
 * One JSON document on standard output, progress on standard error. Exit code 1 when anything differs.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { Renderer } from '../../core/render/renderer.js';
import { ROOT } from '../../infra/setup/root.mjs';
import { compare, type Difference, requests, type Tally } from './compare.js';
import { conversation } from './conversations.js';
import { MODEL_NAMES, type ModelName, modelFiles } from './models.js';
import { type OtherSide, pythonEnvironment, pythonSide, vllmSide } from './sides.js';
import { digestOf } from './vectors.js';

interface Flags {
  readonly count: number;
  readonly seed: number;
  readonly record?: true;
  readonly vllm?: string;
  readonly model?: ModelName;
}

/** Conversations of the recorded vectors. */
const RECORDED = 40;
const SHOWN_DIFFERENCES = 20;

const program = new Command('compare:render')
  .option('--count <n>', 'conversations a model', whole, 300)
  .option('--seed <n>', 'of the conversations', whole, 1)
  .option('--record', `write the digests of the first ${RECORDED} as vectors for the tests`)
  .option('--vllm <url>', 'origin of a running vLLM server that has the tokenizer and template of --model')
  .addOption(new Option('--model <name>', 'one model only').choices(MODEL_NAMES));
const flags = program.parse().opts<Flags>();
if (flags.vllm && !flags.model) program.error('--vllm needs --model: the model whose files the server has');
if (flags.record && (flags.vllm || flags.model || flags.count < RECORDED))
  program.error(`--record needs all models, --count ${RECORDED} or more and no --vllm`);

const results: object[] = [];
const vectors: Record<string, string[]> = {};
let different = false;
for (const model of flags.model ? [flags.model] : MODEL_NAMES) {
  process.stderr.write(`${model}: ${flags.count} conversations\n`);
  const side = flags.vllm ? await vllmSide(flags.vllm) : pythonSide(pythonEnvironment(), model);
  const { tally, differences, digests } = await compareAll(model, side);
  side.end();
  vectors[model] = digests.slice(0, RECORDED);
  different ||= differences.length > 0;
  const shown = differences.slice(0, SHOWN_DIFFERENCES);
  results.push({ model, ...tally, differences: differences.length, shown });
}
process.stdout.write(`${JSON.stringify({ seed: flags.seed, count: flags.count, results }, null, 2)}\n`);
if (flags.record) {
  const folder = path.join(ROOT, 'test', 'render', 'vectors');
  mkdirSync(folder, { recursive: true });
  const text = JSON.stringify({ seed: flags.seed, ids: vectors }, null, 2);
  writeFileSync(path.join(folder, 'parity.json'), `${text}\n`);
}
process.exitCode = different ? 1 : 0;

async function compareAll(model: ModelName, side: OtherSide) {
  const renderer = new Renderer(modelFiles(model));
  const tally: Tally = { prompts: 0, tokens: 0, deltas: 0, refused: 0 };
  const differences: Difference[] = [];
  const digests: string[] = [];
  for (let index = 0; index < flags.count; index++) {
    const made = conversation(flags.seed, index);
    const answers = await side.ask(requests(made));
    differences.push(...compare(renderer, made, answers, tally));
    digests.push(digestOf(answers.map((answer) => ('error' in answer ? undefined : answer.ids))));
  }
  return { tally, differences, digests };
}

function whole(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Expected a whole number.');
  return Number(text);
}
