/**
 * Does the page keep 60 frames a second while a book changes 1,000 times a second? Debian's Chromium shows a market to
 * a visitor who is signed in, with the ticket, and counts its frames: at rest, at 100, 1,000 and 3,000 changes a
 * second.
 *
 * Compare the busy time of the main thread: frames are also lost to other programs on the machine, as the row at rest
 * shows.
 */
import type { CDPSession, Page } from 'playwright-core';
import { assert } from '../shared/base/assert.ts';
import { NO_CHROMIUM, openPageIn, startBrowser } from '../test/support/browser.ts';
import { FramesExchange, MARKET_ID, SHOWN_LEVELS } from './framesExchange.ts';
import { atLeast, atMost, type Report, type Row, STOLEN, StealMeter } from './report.ts';

const RATES = [0, 100, 1000, 3000];
const GOAL_RATE = 1000;
const WARM_UP_MS = 2000;
const SECONDS = 8;
const SECOND_MS = 1000;
const SEED = 7;

/** A frame that is this much late was missed on a screen of 60 Hz. */
const LATE_MS = 25;
const LEAST_FRAMES = 59;
const MOST_BUSY_PERCENT = 50;

type Counted = {
  readonly frames: number;
  readonly late: number;
  readonly longestMs: number;
  readonly longTasks: number;
};

export async function run(): Promise<Report> {
  if (NO_CHROMIUM !== false) {
    return { bench: 'frames', settings: NO_CHROMIUM, rows: [], goals: [] };
  }
  const cleanUps: (() => void | Promise<void>)[] = [];
  const scope = { after: (cleanUp: () => void | Promise<void>) => void cleanUps.push(cleanUp) };
  const exchange = new FramesExchange(SEED);
  scope.after(() => exchange.close());
  try {
    const baseUrl = await exchange.listen();
    const browser = await startBrowser(scope);
    const { page, complaints } = await openPageIn(browser, { viewport: { width: 1280, height: 900 } });
    await page.addInitScript("localStorage.setItem('signed-in', 'account')");
    await page.goto(`${baseUrl}/markets/${MARKET_ID}`);
    await page.locator('.ticket button[type=submit]').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    const session = await page.context().newCDPSession(page);
    // Processor time of the thread, so that time taken by other programs does not count.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const rows: Row[] = [];
    for (const rate of RATES) rows.push(await measure(exchange, page, session, rate));
    if (complaints.length > 0) console.error(complaints);
    assert(complaints.length === 0, 'frames: the page has nothing to complain of');
    return describe(rows);
  } finally {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  }
}

async function measure(exchange: FramesExchange, page: Page, session: CDPSession, rate: number): Promise<Row> {
  exchange.changesPerSecond = rate;
  await page.waitForTimeout(WARM_UP_MS);
  const steal = new StealMeter();
  const before = await metricsOf(session);
  const first = exchange.sequence;
  const started = performance.now();
  const { frames, late, longestMs, longTasks } = await page.evaluate<Counted>(COUNT_FRAMES);
  const seconds = (performance.now() - started) / SECOND_MS;
  const after = await metricsOf(session);
  const percent = (name: string): number => (100 * (after.get(name)! - before.get(name)!)) / seconds;
  exchange.changesPerSecond = 0;
  // The page shows the last change.
  await page.waitForFunction(`\`\${${SHOWN_LEVELS}}\` === '${exchange.shownLevels()}'`);
  return {
    'changes/s': `${rate}`,
    'sequences/s': (exchange.sequence - first) / seconds,
    'frames/s': frames / SECONDS,
    'late frames': late,
    'longest ms': longestMs,
    'long tasks': longTasks,
    'busy %': percent('TaskDuration'),
    'script %': percent('ScriptDuration'),
    'style and layout %': percent('RecalcStyleDuration') + percent('LayoutDuration'),
    [STOLEN]: steal.percent(),
  };
}

async function metricsOf(session: CDPSession): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return new Map(metrics.map(({ name, value }) => [name, value]));
}

/** Runs in the page: counts each animation frame, and tasks of more than 50 ms. */
const COUNT_FRAMES = `new Promise((resolve) => {
  let [frames, late, longestMs, longTasks] = [0, 0, 0, 0];
  new PerformanceObserver((list) => { longTasks += list.getEntries().length; }).observe({ type: 'longtask' });
  let last = performance.now();
  const end = last + ${SECONDS * SECOND_MS};
  const count = (now) => {
    frames += 1;
    const gap = now - last;
    if (gap > ${LATE_MS}) late += 1;
    longestMs = Math.max(longestMs, gap);
    last = now;
    if (now < end) requestAnimationFrame(count);
    else resolve({ frames, late, longestMs, longTasks });
  };
  requestAnimationFrame(count);
})`;

function describe(rows: readonly Row[]): Report {
  const goal = rows[RATES.indexOf(GOAL_RATE)];
  return {
    bench: 'frames',
    settings: `a market of 80 prices in Chromium without a GPU, ${SECONDS} s each; a tenth of the changes are trades`,
    rows,
    goals: [
      atLeast(`frames/s at ${GOAL_RATE} changes/s`, Number(goal['frames/s']), LEAST_FRAMES),
      atMost(`busy % of the main thread at ${GOAL_RATE} changes/s`, Number(goal['busy %']), MOST_BUSY_PERCENT),
    ],
  };
}
