/**
 * Debian's Chromium and Firefox, driven by playwright-core; a test that does not find its browser is skipped and says
 * so. The headless shell is Chromium without its windows, and needs half of the processor time for the same page.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, firefox, type Page } from 'playwright-core';
import { eventually } from './eventually.ts';
import type { Scope } from './server.ts';

const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path));
/** For the `skip` of a test. */
const INSTALLED = CHROMIUM === undefined ? {} : { executablePath: CHROMIUM };

export const NO_CHROMIUM =
  CHROMIUM === undefined && 'chromium is not installed (Debian: apt-get install chromium-headless-shell)';

const FIREFOX = '/usr/bin/firefox-esr';
export const NO_FIREFOX = !existsSync(FIREFOX) && 'firefox is not installed (Debian: apt-get install firefox-esr)';

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

/** @param options for a browser with another environment than that of the tests */
export async function startBrowser(scope: Scope, options: { env?: Record<string, string> } = {}): Promise<Browser> {
  const browser = await chromium.launch({ ...INSTALLED, timeout: PATIENCE_MS, args: ARGS, ...options });
  scope.after(() => browser.close());
  return browser;
}

/** Debian's Firefox. The channel has Playwright speak WebDriver BiDi with it, which needs no Firefox of its own. */
export async function startFirefox(scope: Scope): Promise<Browser> {
  const browser = await firefox.launch({ channel: 'moz-firefox', executablePath: FIREFOX, timeout: PATIENCE_MS });
  scope.after(() => browser.close());
  leaveOutMedia(browser);
  return browser;
}

type BidiSession = { send(method: string, params: object): Promise<unknown> };
type InProcess = { _connection: { toImpl(browser: Browser): { _browserSession: BidiSession } } };

/** Each context begins with the media that it emulates, none here, by a command that Firefox ESR 153 does not know. */
function leaveOutMedia(browser: Browser): void {
  const session = (firefox as unknown as InProcess)._connection.toImpl(browser)._browserSession;
  const send = session.send.bind(session);
  session.send = (method, params) =>
    method === 'emulation.setMediaFeaturesOverride' ? Promise.resolve({}) : send(method, params);
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

const IS_WHOLE =
  `document.querySelector('[aria-busy="true"]') === null && ` + `!document.body.innerText.includes('Loading …')`;

/** Resolves once the view is whole. Until then its parts are laid out but hidden: a check would find nothing wrong. */
export async function wholeView(page: Page): Promise<void> {
  await eventually('the whole view', () => page.evaluate<boolean>(IS_WHOLE));
}
