/** Visitors of the pages of the exchange, in one browser for all tests of a process; and what every view owes them. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, afterEach } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { type OpenedPage, openPageIn, startBrowser, wholeView } from './browser.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** These rules judge the look of a view, which depends on its width and colours. The other rules judge its content. */
const RULES_OF_LOOKS = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size'];

let browser: Promise<Browser> | undefined;
const cleanUps: (() => void | Promise<void>)[] = [];
const contexts: BrowserContext[] = [];

/** A page that stays open would go on asking and painting beside all later tests. */
afterEach(() => Promise.all(contexts.splice(0).map((context) => context.close())));
after(async () => {
  for (const cleanUp of cleanUps) await cleanUp();
});

/** A page of a new visitor in the browser that all files of this process share, until the test ends. */
export async function openPage(options: BrowserContextOptions = {}): Promise<OpenedPage> {
  browser ??= startBrowser({ after: (cleanUp) => void cleanUps.push(cleanUp) });
  const opened = await openPageIn(await browser, options);
  contexts.push(opened.page.context());
  return opened;
}

/** Signs in by one of the ways of the header, which are behind one button if they are many. */
export async function signInBy(page: Page, name: 'Sign in with a wallet' | 'Try with play money'): Promise<void> {
  const way = page.getByRole('button', { name }).first();
  const all = page.getByRole('button', { name: 'Sign in', exact: true }).first();
  await way.or(all).first().waitFor();
  if (!(await way.isVisible())) await all.click();
  await way.click();
}

/** Fills the ticket of a market with a limit order. */
export async function fillLimit(page: Page, price?: string, size?: string): Promise<void> {
  await page.getByRole('tab', { name: 'Limit', exact: true }).click();
  if (price !== undefined) await page.getByLabel('Price in cents').fill(price);
  if (size !== undefined) await page.getByRole('textbox', { name: 'Tokens', exact: true }).fill(size);
}

/** Checks the rules of axe-core, or some of them. Needs a page with `bypassCSP`, otherwise its script is refused. */
export async function assertAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  await wholeView(page);
  if (!(await page.evaluate('"axe" in globalThis'))) await page.addScriptTag({ path: AXE });
  const violations: string[] = await page.evaluate(
    async (runOnly) => {
      type AxeViolation = { id: string; nodes: { html: string }[] };
      type Axe = { run(options: object): Promise<{ violations: AxeViolation[] }> };
      const { axe } = globalThis as unknown as { axe: Axe };
      const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly ? { runOnly } : {}) });
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
    },
    rules as string[] | undefined,
  );
  assert.deepEqual(violations, [], page.url());
}

/**
 * A view passes all accessibility rules at 360 pixels in light, and the rules of its look at 1280 in dark, and is not
 * wider than 360. The content of a view depends on neither.
 */
export async function assertFitForAll(page: Page): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  await assertAccessible(page, RULES_OF_LOOKS);
  await page.setViewportSize({ width: 360, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await assertAccessible(page);
  const width = await page.evaluate('document.documentElement.scrollWidth');
  assert.ok((width as number) <= 360, `${page.url()} is wider than 360`);
}
