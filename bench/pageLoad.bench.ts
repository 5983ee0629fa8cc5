/**
 * How soon is the page there on a slow device, does it stay where it is, and does it answer while a book changes 500
 * times a second? Debian's Chromium, whose processor is slowed down, opens views of a real exchange as a new visitor,
 * and then a market whose changes are made up.
 *
 * Other programs on the machine make all of it later: the quietest of several visits counts.
 */
import type { Browser, CDPSession, Page } from 'playwright-core';
import { assert } from '../shared/base/assert.ts';
import { makeWorld, NOW_MS } from '../test/shots/world.ts';
import { NO_CHROMIUM, openPageIn, startBrowser } from '../test/support/browser.ts';
import { FramesExchange, MARKET_ID, SHOWN_LEVELS } from './framesExchange.ts';
import { COUNT_WRITES, type Loaded, METER_LOADING, type Written } from './pageMeters.ts';
import { atMost, median, quietest, type Report, type Row, STOLEN, StealMeter } from './report.ts';

/** As Lighthouse slows down a device of an office to one of a pocket. */
const SLOWER = 4;
const VISITS = 5;
const MOST_FIRST_PAINT_MS = 1000;
const CHANGES_PER_SECOND = 500;
const LIVES = 3;
const LIVE_SECONDS = 10;
const MOST_TASK_MS = 100;
const SECOND_MS = 1000;
const KILO = 1000;
const SEED = 7;

/** The clock of the exchange is ahead: for a browser of today its markets would be younger than a minute. */
const CLOCK = `{
  const byMs = ${NOW_MS} - Date.now();
  globalThis.Date = class extends Date {
    constructor(...given) { given.length === 0 ? super(Date.now()) : super(...given); }
    static now() { return super.now() + byMs; }
  };
}`;

export async function run(): Promise<Report> {
  if (NO_CHROMIUM !== false) return { bench: 'pageLoad', settings: NO_CHROMIUM, rows: [], goals: [] };
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope = { after: (cleanUp: () => void | Promise<void>) => void cleanUps.push(cleanUp) };
  try {
    const { server, markets } = await makeWorld(scope);
    const browser = await startBrowser(scope);
    const visits: Visited[] = [];
    for (const path of ['/', '/events/mayor', `/markets/${markets.rain}`]) {
      for (const width of [360, 1280]) visits.push(await visit(browser, server.baseUrl, path, width));
    }
    await server.stop();
    const lives: Live[] = [];
    for (const slower of [1, SLOWER]) {
      const rounds: Live[] = [];
      for (let round = 0; round < LIVES; round++) rounds.push(await follow(browser, slower));
      lives.push(quietest(rounds, ({ longestTaskMs }) => longestTaskMs));
    }
    return describe(visits, lives);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

type Visited = { readonly row: Row; readonly view: string; readonly firstPaintMs: number; readonly shift: number };

/** New visitors, one after the other: none has a file of the page yet. */
async function visit(browser: Browser, baseUrl: string, path: string, width: number): Promise<Visited> {
  const steal = new StealMeter();
  const rounds: (Loaded & { readonly bytes: number })[] = [];
  for (let round = 0; round < VISITS; round++) {
    const { page, session } = await openSlow(browser, width, SLOWER);
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await session.send('Network.enable');
    await page.addInitScript(METER_LOADING);
    await page.addInitScript(CLOCK);
    await page.goto(baseUrl + path, { waitUntil: 'networkidle' });
    rounds.push({ ...(await page.evaluate<Loaded>('loaded')), bytes });
    await page.context().close();
  }
  const best = quietest(rounds, ({ firstPaintMs }) => firstPaintMs);
  const view = `${path.split('/')[1] || 'home'} at ${width}`;
  const shift = Math.max(...rounds.map((round) => round.shift));
  const row = {
    view,
    'first paint ms': best.firstPaintMs,
    'median ms': median(rounds.map(({ firstPaintMs }) => firstPaintMs)),
    'largest paint ms': best.largestPaintMs,
    'layout shift': shift,
    'longest task ms': best.longestTaskMs,
    KB: best.bytes / KILO,
    [STOLEN]: steal.percent(),
  };
  return { row, view, firstPaintMs: best.firstPaintMs, shift };
}

type Live = { readonly row: Row; readonly slower: number; readonly longestTaskMs: number };

async function follow(browser: Browser, slower: number): Promise<Live> {
  const exchange = new FramesExchange(SEED);
  try {
    const baseUrl = await exchange.listen();
    const { page } = await openSlow(browser, 1280, slower);
    await page.addInitScript("localStorage.setItem('signed-in', 'account')");
    await page.goto(`${baseUrl}/markets/${MARKET_ID}`);
    await page.locator('.ticket button[type=submit]').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const steal = new StealMeter();
    await page.evaluate(COUNT_WRITES);
    const first = exchange.sequence;
    exchange.changesPerSecond = CHANGES_PER_SECOND;
    await page.waitForTimeout(LIVE_SECONDS * SECOND_MS);
    const changes = exchange.sequence - first;
    exchange.changesPerSecond = 0;
    await page.waitForFunction(`\`\${${SHOWN_LEVELS}}\` === '${exchange.shownLevels()}'`);
    const { frames, writes, mostWrites, longestTaskMs } = await page.evaluate<Written>('written');
    assert(writes > 0, 'pageLoad: the page shows the changes');
    await page.context().close();
    const row = {
      view: `a market with ${CHANGES_PER_SECOND} changes/s, ${slower} times slower`,
      'longest task ms': longestTaskMs,
      'frames/s': frames / LIVE_SECONDS,
      'writes a change': writes / changes,
      'most writes a frame': mostWrites,
      [STOLEN]: steal.percent(),
    };
    return { row, slower, longestTaskMs };
  } finally {
    exchange.close();
  }
}

type Opened = { readonly page: Page; readonly session: CDPSession };

async function openSlow(browser: Browser, width: number, rate: number): Promise<Opened> {
  const { page } = await openPageIn(browser, { viewport: { width, height: 800 } });
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate });
  return { page, session };
}

function describe(visits: readonly Visited[], lives: readonly Live[]): Report {
  return {
    bench: 'pageLoad',
    settings:
      `views of an exchange on the same machine in Chromium, whose processor is ${SLOWER} times slower, ${VISITS} ` +
      `new visitors each; then a market of 80 prices, ${LIVES} times for ${LIVE_SECONDS} s`,
    rows: [...visits.map(({ row }) => row), ...lives.map(({ row }) => row)],
    goals: [
      ...visits.map(({ view, firstPaintMs }) => atMost(`first paint ms of ${view}`, firstPaintMs, MOST_FIRST_PAINT_MS)),
      ...visits.map(({ view, shift }) => atMost(`layout shift of ${view}`, shift, 0)),
      ...lives.map(({ slower, longestTaskMs }) =>
        atMost(
          `longest task ms at ${CHANGES_PER_SECOND} changes/s, ${slower} times slower`,
          longestTaskMs,
          MOST_TASK_MS,
        ),
      ),
    ],
  };
}
