/** Checks that need nobody to be asked: each on a sound run, and on every way in which it can be unsound. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockProblems } from '../../cli/preflight/checks/clocks.js';
import { retained } from '../../cli/preflight/checks/disk.js';
import { layoutProblems } from '../../cli/preflight/checks/layout.js';
import { proxyProblems } from '../../cli/preflight/checks/proxies.js';
import { silenceResult } from '../../cli/preflight/checks/silence.js';
import { estimateOf } from '../../cli/preflight/estimate.js';
import { uncheckedTrainConfig } from '../../cli/run/resolve.js';
import type { TrainConfig } from '../../core/campaign.js';
import type { AttemptRow } from '../../core/ledger.js';
import { findingText } from '../../core/preflight.js';
import { parseRunFile, type RunFile } from '../../core/schemas/run-file.js';
import type { VerlConfig } from '../../core/trainers/config.js';
import { createDeskbench } from '../../suites/deskbench/suite.js';
import { referenceFile } from '../stand-in-cluster/material.js';

type Changed = TrainConfig & { readonly trainer: VerlConfig };

function reference(change: (file: ReturnType<typeof referenceFile>) => void = () => undefined): Changed {
  const file = referenceFile();
  change(file);
  const parsed: RunFile = parseRunFile(file, 'run.yaml');
  return uncheckedTrainConfig(parsed, createDeskbench(), ['a']) as Changed;
}

const layout = (change?: Parameters<typeof reference>[0]): readonly string[] => {
  const config = reference(change);
  return layoutProblems(config, config.trainer).map(findingText);
};

describe('GPUs and batch', () => {
  it('of the reference divide', () => {
    expect(layout()).toEqual([]);
  });

  it('7 GPUs with tensor parallel 4', () => {
    expect(layout(({ trainer }) => trainer.hosts.splice(0, 3, { name: 'gpu-1', gpus: 7 }))).toEqual([
      'trainer.hosts.0.gpus: expected GPUs that rollout tensor parallel 4 divides, found 7 on gpu-1. Give the host another number of GPUs, or set trainer.parallel.rolloutTensor.',
      'trainer.parallel.sequence: expected a divisor of the 7 GPUs of all hosts, found 4. Set trainer.parallel.sequence to a divisor.',
    ]);
  });

  it('GPUs listed twice', () => {
    const [problem] = layout(({ trainer }) => {
      trainer.hosts[1]!.gpus = [0, 1, 2, 3, 3, 5, 6, 7];
    });
    expect(problem).toBe(
      'trainer.hosts.1.gpus: expected every GPU once, found GPU 3 twice: 0, 1, 2, 3, 3, 5, 6, 7. List each GPU once.',
    );
  });

  it('a host listed twice', () => {
    const [problem] = layout(({ trainer }) => {
      trainer.hosts[2]!.name = 'gpu-1';
    });
    expect(problem).toBe(
      'trainer.hosts.2.name: expected every host once, found gpu-1 again. Name every host once, with all of its GPUs.',
    );
  });

  it('hosts of different sizes', () => {
    expect(
      layout(({ trainer }) => {
        trainer.hosts[2]!.gpus = 4;
      })[0],
    ).toContain('trainer.hosts.2.gpus: expected 8 GPUs as on gpu-1');
  });

  it('a batch that the ranks do not divide', () => {
    const [problem] = layout(({ train }) => {
      train.shape = { groups: 17, groupSize: 7, minInformative: 6 };
    });
    expect(problem).toContain('found 17 × 7 = 119. Set another number of groups or members');
  });

  it('a model length below prompt and response', () => {
    const [problem] = layout(({ trainer }) => {
      trainer.modelLength = 131_072;
    });
    expect(problem).toBe(
      'trainer.modelLength: expected at least prompt and response, 26624 + 106496 = 133120 tokens, found 131072. Raise trainer.modelLength, or lower limits.promptTokens or limits.tokensPerEpisode.',
    );
  });
});

describe('clocks', () => {
  const at = (ms: number, wide = 50) => ({ least: ms - wide, most: ms + wide });

  it('that agree within what can be told are no problem', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -900, max: 900 })), fc.nat(5_000), (offsets, wide) => {
        const clocks = offsets.map((offset, index) => [`h${index}`, at(offset, wide)] as const);
        expect(clockProblems(clocks)).toEqual([]);
      }),
    );
  });

  it('one that is wrong among three is one problem, whichever it is', () => {
    for (const wrong of [0, 1, 2]) {
      const clocks = [0, 1, 2].map(
        (index) => [`h${index}`, at(index === wrong ? -60_000 : index * 10)] as const,
      );
      expect(clockProblems(clocks).map(findingText)).toEqual([
        expect.stringMatching(new RegExp(`clock of h${wrong}: .* at least (59|60)\\.\\d s behind\\. `)),
      ]);
    }
  });
});

describe('proxies', () => {
  const texts = (proxies: Record<string, string>, hosts: readonly string[] = []) =>
    proxyProblems('here', proxies, hosts).map(findingText);

  it('none, one spelling, or two that agree are no problem', () => {
    expect(texts({}, ['gpu-1'])).toEqual([]);
    expect(texts({ http_proxy: 'http://p:1' })).toEqual([]);
    expect(texts({ http_proxy: 'http://p:1', HTTP_PROXY: 'http://p:1' })).toEqual([]);
    expect(
      texts({ https_proxy: 'http://p:1', no_proxy: '.cluster.local, 10.0.0.1' }, ['a.cluster.local']),
    ).toEqual([]);
    expect(texts({ https_proxy: 'http://p:1', NO_PROXY: '*' }, ['gpu-1'])).toEqual([]);
  });

  it('two spellings that disagree, and hosts that would go through one', () => {
    expect(
      texts({ https_proxy: 'http://p:1', HTTPS_PROXY: 'http://q:1', no_proxy: 'gpu-1' }, ['gpu-1', 'gpu-2']),
    ).toEqual([
      'HTTPS_PROXY here: expected the same as https_proxy, http://p:1, found http://q:1. Set both to one address, or unset one of them: programs differ in which they read.',
      'NO_PROXY here: expected the hosts of the cluster, which talk to each other, found none for gpu-2. Add them: NO_PROXY=gpu-1,gpu-2',
    ]);
  });
});

describe('checkpoints that stay', () => {
  it.each([
    [{ last: 3, every: 10 }, 50, 5, 6],
    [{ last: 3, every: 0 }, 50, 5, 3],
    [{ last: 0, every: 0 }, 50, 5, 10],
    [{ last: 0, every: 0 }, 52, 5, 11],
    [{ last: 3, every: 10 }, 4, 5, 1],
  ])('%j of %i steps, every %i: %i', (keep, steps, saveEvery, count) => {
    expect(retained({ keep, steps, saveEvery })).toBe(count);
  });
});

describe('how long a job may be silent', () => {
  const asked = (silentMs: unknown) =>
    reference(({ trainer }) => {
      trainer.silentMs = silentMs;
    }).trainer;

  it('is the run file’s, else the default, and no part of the identity of runs that do not say', () => {
    expect(asked(600_000).silentMs).toBe(600_000);
    expect('silentMs' in reference().trainer).toBe(false);
  });

  it.each([299_999, 0, -1, 604_800_001, '4h', 1.5])('%s is refused', (silentMs) => {
    expect(() => asked(silentMs)).toThrow(/trainer\.silentMs: expected/);
  });

  it('is told, with a warning where a step is thought to take longer', () => {
    const found = 'ended and started again after 4.0 h without metrics of a step';
    expect(silenceResult(14_400_000, undefined)).toEqual({ state: 'holds', found });
    expect(silenceResult(14_400_000, 3.9)).toEqual({ state: 'holds', found });
    const warning = expect.stringContaining('are estimated at 4.1 h. Raise trainer.silentMs.');
    expect(silenceResult(14_400_000, 4.1)).toEqual({ state: 'holds', found, warning });
  });
});

describe('the estimate', () => {
  const row = (taskId: string, passed: boolean): AttemptRow =>
    ({
      taskId,
      passed,
      wallMs: 60_000,
      usage: {
        policyPromptTokens: 1_000,
        policySampledTokens: 500,
        policyCalls: 1,
        otherPromptTokens: 100,
        otherSampledTokens: 50,
        otherCalls: 1,
      },
    }) as AttemptRow;
  const { shape } = reference();

  it('needs probes', () => {
    expect(estimateOf({ shape, steps: 50 }, [], {})).toBeUndefined();
  });

  it('is the probed episode times the episodes, with groups that will be replaced', () => {
    const even = Array.from({ length: 10 }, (_, index) => row('a', index % 2 === 0));
    const prices = { '*': { promptPerMillion: 1, sampledPerMillion: 10 } };
    const known = estimateOf({ shape, steps: 50 }, even, { lanes: 48, prices })!;
    // Success rate one half: two in 256 groups end alike.
    expect(known.groupsPerStep).toBeCloseTo(18 / (1 - 2 / 256), 6);
    expect(known.episodes).toBe(7_257);
    expect(known.sampledTokens).toBe(7_257 * 500);
    expect(known.cost).toBeCloseTo((7_257 * (1_100 + 10 * 550)) / 1e6, 6);
    expect(known.hours).toBeCloseTo(7_257 / 48 / 60, 6);
  });

  it('a pool that is always solved costs as many groups as a step may start', () => {
    const solved = Array.from({ length: 1_000 }, () => row('a', true));
    expect(estimateOf({ shape, steps: 1 }, solved, {})!.groupsPerStep).toBe(72);
  });
});
