/** From settings to vLLM's command line: pure, in a fixed order, so that two of them can be compared line by line. */
import { UsageError } from '../faults.js';
import type { VllmSettings } from './settings.js';

/** What is decided when the server is started. */
export interface VllmLaunch {
  /** Folder with weights, configuration and tokenizer. */
  readonly folder: string;
  /** The name that requests and replies carry: the weights' digest. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** Flags that are ours, or that would put a secret into the ledger. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['--model', '--host', '--port', '--uds', '--served-model-name', '--api-key', '--hf-token', '--config'],
  ...['--tensor-parallel-size', '-tp', '--dtype', '--max-model-len', '--gpu-memory-utilization'],
  ...['--max-num-seqs', '--max-num-batched-tokens', '--reasoning-parser', '--tool-call-parser'],
  ...['--enable-auto-tool-choice', '--no-enable-auto-tool-choice', '--logprobs-mode'],
  ...['--enable-prefix-caching', '--no-enable-prefix-caching', '--language-model-only'],
  ...['--enable-chunked-prefill', '--no-enable-chunked-prefill', '--no-language-model-only'],
]);

/**
 * Arguments of `vllm serve`. Log-probabilities are always the model's own (`raw_logprobs`): nothing else can be
 * trained on, or compared. Throws `UsageError` for an extra argument that is ours to set.
 */
export function vllmArguments(settings: VllmSettings, launch: VllmLaunch): readonly string[] {
  requireExtra(settings.extraArguments);
  const { reasoningParser, toolCallParser } = settings;
  return [
    ...['serve', launch.folder, '--host', launch.host, '--port', String(launch.port)],
    ...['--served-model-name', launch.name],
    ...['--tensor-parallel-size', String(settings.tensorParallel)],
    ...['--dtype', settings.dtype],
    ...['--max-model-len', String(settings.maxModelLength)],
    ...['--gpu-memory-utilization', String(settings.memoryUtilisation)],
    ...['--max-num-seqs', String(settings.maxSequences)],
    ...['--max-num-batched-tokens', String(settings.maxBatchedTokens)],
    ...(reasoningParser === null ? [] : ['--reasoning-parser', reasoningParser]),
    ...(toolCallParser === null ? [] : ['--enable-auto-tool-choice', '--tool-call-parser', toolCallParser]),
    settings.prefixCaching ? '--enable-prefix-caching' : '--no-enable-prefix-caching',
    settings.chunkedPrefill ? '--enable-chunked-prefill' : '--no-enable-chunked-prefill',
    ...(settings.languageModelOnly ? ['--language-model-only'] : []),
    ...['--logprobs-mode', 'raw_logprobs'],
    ...settings.extraArguments,
  ];
}

function requireExtra(extra: readonly string[]): void {
  for (const argument of extra) {
    const flag = argument.split('=')[0]!.replaceAll('_', '-');
    if (!RESERVED.has(flag)) continue;
    throw new UsageError('serving.extraArguments', 'flags that no setting has', flag, 'Use the setting.');
  }
}
