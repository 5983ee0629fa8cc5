/**
 * Debian's Chromium, driven by playwright-core; a test that finds none installed is skipped and says so. The headless
 * shell is Chromium without its windows, and needs half of the processor time for the same page.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Scope } from './server.ts';

const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
/** For the `skip` of a test. */
const INSTALLED = CHROMIUM === undefined ? {} : { executablePath: CHROMIUM };

export const NO_CHROMIUM =
  CHROMIUM === undefined && 'chromium is not installed (Debian: apt-get install chromium-headless-shell)';
/** Far above what anything on a page takes, even on a busy machine: it only turns what never comes into a failure. */
const PATIENCE_MS = 90_000;

/** Without the last arguments Chromium connects to the outside on its own. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function startBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({ ...INSTALLED, timeout: PATIENCE_MS, args: ARGS });
  scope.after(() => browser.close());
  return browser;
}

export type OpenedPage = { page: Page; complaints: string[] };

/**
 * Opens a page for a new visitor. Errors that the page itself reports, on the console or as exceptions, are in
 * `complaints`.
 */
export async function openPageIn(browser: Browser, options: BrowserContextOptions): Promise<OpenedPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  return { page, complaints };
}
