/**
 * ThinkingBox episodes against the peer's own command line, and what the 507 cases say of the adapter. Needs checkouts:
 * `THINKINGBOX_DIR` and `THINKINGBOX_DATA_DIR`.
 */
import { join, resolve } from 'node:path';
import { ROOT } from '../../infra/setup/root.mjs';
import { openThinkingBox } from '../../suites/thinkingbox/open.js';
import { prepareThinkingBox } from '../../suites/thinkingbox/python.js';
import { homeOf } from '../../suites/thinkingbox/registration.js';
import { readList } from '../../suites/thinkingbox/suite.js';
import { jsonOf } from './child.js';
import type { Bench, BenchOptions, Figure } from './figure.js';
import { rounded } from './figure.js';
import { ALTERED, departures, EXCEPTIONS } from './thinkingbox-exceptions.js';
import { measurePeer } from './thinkingbox-peer.js';
import type { PlayOptions, PlayReport } from './thinkingbox-play.js';

const FIVE = join(ROOT, 'examples', 'thinkingbox-five.yaml');
const BAR_TIMES = 12;
const GOAL_TIMES = 20;
const BAR_GB = 2.5;
const SESSIONS = 32;
/** So long a turn takes that all sessions are open at once. */
const HELD_MS = 3_000;

async function run(options: BenchOptions): Promise<readonly Figure[]> {
  const { THINKINGBOX_DIR: thinkingboxDir, THINKINGBOX_DATA_DIR: dataDir } = process.env;
  if (!thinkingboxDir || !dataDir) {
    options.say(
      '  skipped: THINKINGBOX_DIR and THINKINGBOX_DATA_DIR name no checkouts, see docs/thinkingbox.md',
    );
    return [];
  }
  const five = await readList(FIVE);
  const play = (played: PlayOptions): Promise<PlayReport> =>
    jsonOf<PlayReport>('test/bench/thinkingbox-play.js', [JSON.stringify(played)], { say: options.say });
  const some = options.quick ? { cases: five } : {};
  return [
    await againstPeer(options, resolve(thinkingboxDir), resolve(dataDir), five, play),
    ...(await verdicts(play, some)),
    await memory(play, options.quick),
  ];
}

async function againstPeer(
  { quick, say }: BenchOptions,
  thinkingboxDir: string,
  dataDir: string,
  five: readonly string[],
  play: (options: PlayOptions) => Promise<PlayReport>,
): Promise<Figure> {
  const home = homeOf(process.env);
  const python = process.env.THINKINGBOX_PYTHON ?? (await prepareThinkingBox({ home }));
  const suite = await openThinkingBox(process.env);
  const cases = await Promise.all(
    five.map(async (id) => ({
      id,
      opening: (await suite.load(id)).user.opening,
      calls: await suite.goldenCalls(id),
    })),
  ).finally(() => suite.close());
  const packages = join(home, 'peer-thinkingbox');
  const peer = await measurePeer({
    ...{ python, thinkingboxDir, dataDir, packages, cases, say },
    repeat: quick ? 1 : 4,
  });
  const ours = await play({ policy: 'golden', concurrency: 2, cases: five, repeat: quick ? 4 : 40 });
  const each = (report: { readonly cpuSeconds: number; readonly episodes: number }) =>
    report.cpuSeconds / report.episodes;
  const times = each(peer) / each(ours);
  return {
    figure: 'whole episodes with an instant policy, CPU time of `tb infer` over ours',
    bar: `≥ ${BAR_TIMES} times`,
    target: `${GOAL_TIMES} times`,
    measured: rounded(times, 1),
    unit: 'times',
    holds: times >= BAR_TIMES && peer.passed === peer.episodes && ours.passed === ours.episodes,
    details: {
      peerSeconds: rounded(each(peer)),
      ourSeconds: rounded(each(ours), 3),
      peerEpisodesASecond: rounded(peer.episodes / peer.wallSeconds, 3),
      ourEpisodesASecond: rounded(ours.episodes / ours.wallSeconds, 2),
      peerEpisodes: peer.episodes,
      ourEpisodes: ours.episodes,
    },
  };
}

/** Golden calls pass everywhere, nothing passes once, and what is altered fails in every domain. */
async function verdicts(
  play: (options: PlayOptions) => Promise<PlayReport>,
  some: Partial<PlayOptions>,
): Promise<readonly Figure[]> {
  const golden = await play({ policy: 'golden', concurrency: 4, ...some });
  const nothing = await play({ policy: 'nothing', concurrency: 4, ...some });
  const figures = [
    verdict('golden calls that do not pass', golden, golden.episodes - golden.passed, 0),
    verdict('cases that doing nothing passes', nothing, nothing.passed, some.cases ? 0 : 1),
  ];
  for (const policy of ALTERED) {
    const report = await play({ policy, concurrency: 4, ...some });
    const whole = some.cases === undefined;
    const domains = Object.keys((whole ? golden : report).byDomain);
    const found = departures(policy, report, domains, whole);
    const wrong = Object.values(found).flat().length;
    const what = `altered episodes that pass and are not listed, or the other way round, and domains where none fails (${policy})`;
    const { details, ...figure } = verdict(what, report, wrong, 0);
    figures.push({ ...figure, details: { ...details, ...found, listed: EXCEPTIONS[policy] } });
  }
  return figures;
}

function verdict(figure: string, report: PlayReport, measured: number, bar: number): Figure {
  const { episodes, passed, passedIds, failedIds, faults, byDomain, cpuSeconds } = report;
  return {
    figure,
    bar: `exactly ${bar}`,
    target: null,
    measured,
    unit: '',
    holds: measured === bar && faults.length === 0,
    details: {
      episodes,
      passed,
      passedIds,
      failedIds: passed > episodes / 2 ? failedIds : [],
      faults,
      byDomain,
      cpuSeconds: rounded(cpuSeconds, 1),
    },
  };
}

async function memory(play: (options: PlayOptions) => Promise<PlayReport>, quick: boolean): Promise<Figure> {
  const held = { concurrency: quick ? 4 : SESSIONS, turnDelayMs: HELD_MS };
  const cases = await readList(FIVE);
  const report = await play({ policy: 'golden', memory: true, ...held, cases, repeat: quick ? 1 : 13 });
  const gigabytes = report.peakBytes / 1e9;
  return {
    figure: `memory of a worker with ${SESSIONS} sessions open, its servers and its bridge`,
    bar: `< ${BAR_GB} GB`,
    target: null,
    measured: rounded(gigabytes),
    unit: 'GB',
    holds: gigabytes < BAR_GB && report.passed === report.episodes,
    details: { episodes: report.episodes, ...held },
  };
}

export const thinkingboxBench: Bench = {
  name: 'thinkingbox',
  about:
    '507 ThinkingBox cases with golden and altered calls, and `tb infer` on five of them, about 8 minutes',
  run,
};
