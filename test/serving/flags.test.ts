import { expect, test } from 'vitest';
import { vllmArguments } from '../../core/serving/flags.js';
import { VLLM } from '../../temporal.config.js';

const LAUNCH = { folder: '/models/my model', name: 'sha256:abc', host: '10.0.0.7', port: 8_100 };

test("the defaults are the reference's flags, in this order", () => {
  expect(vllmArguments(VLLM, LAUNCH)).toEqual([
    ...['serve', '/models/my model', '--host', '10.0.0.7', '--port', '8100'],
    ...['--served-model-name', 'sha256:abc'],
    ...['--tensor-parallel-size', '8'],
    ...['--dtype', 'bfloat16'],
    ...['--max-model-len', '262144'],
    ...['--gpu-memory-utilization', '0.85'],
    ...['--max-num-seqs', '16'],
    ...['--max-num-batched-tokens', '8192'],
    ...['--reasoning-parser', 'qwen3'],
    ...['--enable-auto-tool-choice', '--tool-call-parser', 'qwen3_xml'],
    '--enable-prefix-caching',
    '--enable-chunked-prefill',
    '--language-model-only',
    ...['--logprobs-mode', 'raw_logprobs'],
  ]);
});

test('what is switched off is said to be off, and what is added comes last', () => {
  const off = { prefixCaching: false, chunkedPrefill: false, languageModelOnly: false };
  const none = { reasoningParser: null, toolCallParser: null };
  expect(
    vllmArguments({ ...VLLM, ...off, ...none, extraArguments: ['--enforce-eager'] }, LAUNCH).slice(20),
  ).toEqual([
    '--no-enable-prefix-caching',
    '--no-enable-chunked-prefill',
    ...['--logprobs-mode', 'raw_logprobs'],
    '--enforce-eager',
  ]);
});

test.each(['--port=1', '--served_model_name', '--api-key', '--logprobs-mode'])(
  '%s is ours to set',
  (flag) => {
    expect(() => vllmArguments({ ...VLLM, extraArguments: [flag] }, LAUNCH)).toThrow(
      `serving.extraArguments: expected flags that no setting has, found ${flag.split('=')[0]!.replaceAll('_', '-')}. Use the setting.`,
    );
  },
);
