/** The other sides to compare with: Python's libraries in a process of their own, or a running vLLM server. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { findPython, pipInstall } from '../../infra/setup/python.mjs';
import { ROOT } from '../../infra/setup/root.mjs';
import type { Answer } from './compare.js';
import { type ModelName, modelFiles, modelFolder } from './models.js';

export interface OtherSide {
  /** Answers to bodies of chat completions, in order. */
  ask(bodies: readonly string[]): Promise<Answer[]>;
  end(): void;
}

/** `native/render-parity/render.py` with the files of one model. */
export function pythonSide(python: string, model: ModelName): OtherSide {
  const child = spawn(python, [path.join(ROOT, 'native', 'render-parity', 'render.py')], {
    stdio: 'pipe',
    env: { ...process.env, TRANSFORMERS_VERBOSITY: 'error' },
  });
  child.stderr.pipe(process.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { config } = modelFiles(model);
  const tokenizer = path.join(modelFolder(model), 'tokenizer.json');
  child.stdin.write(`${JSON.stringify({ tokenizer, config })}\n`);
  return {
    ask: async (bodies) => {
      if (!child.stdin.write(bodies.map((body) => `${body}\n`).join(''))) await once(child.stdin, 'drain');
      const answers: Answer[] = [];
      while (answers.length < bodies.length) {
        const line = await lines.next();
        if (line.done) throw new Error(`${python}: ended in the middle, see above`);
        answers.push(JSON.parse(line.value) as Answer);
      }
      return answers;
    },
    end: () => void child.stdin.end(),
  };
}

/** A server's `/tokenize` for chats: ids only. `url` is its origin; it serves one model. */
export async function vllmSide(url: string): Promise<OtherSide> {
  const models = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  const model = models.data[0]!.id;
  const answer = async (body: string): Promise<Answer> => {
    const asked = { ...JSON.parse(body), model, add_generation_prompt: true, add_special_tokens: false };
    const reply = await fetch(`${url}/tokenize`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    const text = await reply.text();
    if (!reply.ok) return { error: `HTTP ${reply.status}: ${text.slice(0, 500)}` };
    return { ids: (JSON.parse(text) as { tokens: number[] }).tokens };
  };
  return {
    ask: async (bodies) => {
      const answers: Answer[] = [];
      for (const body of bodies) answers.push(await answer(body));
      return answers;
    },
    end: () => {},
  };
}

/** The interpreter of an environment with the pinned packages, which is made when it is not there. */
export function pythonEnvironment(): string {
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
