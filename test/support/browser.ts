/** Debian's Chromium, driven by playwright-core; a test that finds none installed is skipped and says so. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Scope } from './server.ts';

const CHROMIUM = '/usr/bin/chromium';
/** For the `skip` of a test. */
export const NO_CHROMIUM = existsSync(CHROMIUM)
  ? false
  : 'chromium is not installed (Debian: apt-get install chromium)';

/** Without the last ones it connects to the outside by itself. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export async function startBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  scope.after(() => browser.close());
  return browser;
}

/** A page of a new visitor. What it complains of itself, by console or exception, is in `complaints`. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return { page, complaints };
}

/** By the rules of axe-core. The context must have been opened with `bypassCSP`, or its script is refused. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.addScriptTag({ path: AXE });
  const violations: string[] = await page.evaluate(async () => {
    const axe = (globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } }).axe;
    type AxeViolation = { id: string; nodes: { html: string }[] };
    return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
  });
  assert.deepEqual(violations, [], page.url());
}
