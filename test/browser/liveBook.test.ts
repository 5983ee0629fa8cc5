/** The page while a book changes much faster than a screen shows: what it draws, and how often. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FramesExchange, MARKET_ID, SHOWN_LEVELS } from '../../bench/framesExchange.ts';
import { COUNT_WRITES, type Written } from '../../bench/pageMeters.ts';
import { NO_CHROMIUM } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { openPage } from '../support/visitor.ts';

const skip = NO_CHROMIUM;
const CHANGES = 2000;
const CHANGES_PER_SECOND = 500;
/**
 * Writes of one frame: at most 24 rows of the ladder with their texts, title and bar, as many of the tape, and a few
 * figures of the ticket.
 */
const MOST_WRITES = 24 * 6 + 24 * 5 + 60;

test('500 changes a second are written to the page once a frame, and the last one is shown', { skip }, async (t) => {
  const exchange = new FramesExchange(7);
  t.after(() => exchange.close());
  const baseUrl = await exchange.listen();
  const { page, complaints } = await openPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript("localStorage.setItem('signed-in', 'account')");
  await page.goto(`${baseUrl}/markets/${MARKET_ID}`);
  await page.locator('.ticket button[type=submit]').waitFor();
  await page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
  await page.evaluate(COUNT_WRITES);
  exchange.changesPerSecond = CHANGES_PER_SECOND;
  await eventually('so many changes', async () => exchange.sequence > CHANGES);
  exchange.changesPerSecond = 0;
  await eventually('the last change', async () => {
    return `${await page.evaluate(SHOWN_LEVELS)}` === `${exchange.shownLevels()}`;
  });
  const { frames, writes, mostWrites } = await page.evaluate<Written>('written');
  t.diagnostic(`${writes} writes in ${frames} frames, for ${exchange.sequence} changes`);
  assert.ok(writes > 0);
  assert.ok(mostWrites <= MOST_WRITES, `${mostWrites} writes before a frame`);
  assert.deepEqual(complaints, []);
});
