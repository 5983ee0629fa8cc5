/**
 * Opens the views of the exchange in a browser whose fonts, clock, zone and language are always the same, and takes
 * pictures of them. Fonts are Liberation Sans and Mono, whatever else a machine has.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { privateKeyToAccount } from 'viem/accounts';
import { NO_CHROMIUM, openPageIn, startBrowser, wholeView } from '../support/browser.ts';
import { giveWallets } from '../support/browserWallet.ts';
import { temporaryDirectory } from '../support/directory.ts';
import type { Scope } from '../support/server.ts';
import { type Box, cutOff, moving, readBoxes } from './layout.ts';
import { type Hole, type Picture, pictureOf, WIDTH } from './picture.ts';
import { HEIGHTS, SCHEMES, type Scheme, type View, WIDTHS, type Width } from './views.ts';
import { NOW_MS, VISITOR_KEY, type World } from './world.ts';

const FONTS = '/usr/share/fonts/truetype/liberation';
/** For the `skip` of a test. */
export const NO_STUDIO =
  NO_CHROMIUM || (!existsSync(FONTS) && 'its fonts are not installed (Debian: apt-get install fonts-liberation)');

/** A view at one width. */
export type Print = {
  readonly boxes: readonly Box[];
  readonly pictures: Readonly<Record<Scheme, Picture>>;
  /** Where measured values are drawn. */
  readonly holes: readonly Hole[];
};

/**
 * The clock stands still. Layout shifts are kept with what has moved, up to the first input: Playwright fills a field
 * without a key, so that the browser does not know that what moves then is the answer to it.
 */
const PREPARED = `{
  const now = ${NOW_MS};
  globalThis.Date = class extends Date {
    constructor(...given) { given.length === 0 ? super(now) : super(...given); }
    static now() { return now; }
  };
  globalThis.shifts = { sum: 0, moved: [] };
  let filled = Infinity;
  addEventListener('input', () => { filled = Math.min(filled, performance.now()); }, true);
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources, startTime } of list.getEntries()) {
      const moved = sources.map(({ node, previousRect: { y: from }, currentRect: { y: to } }) =>
        (node?.className || node?.localName || node?.nodeName) + ' from ' + from + ' to ' + to);
      if (hadRecentInput || startTime > filled) continue;
      shifts.sum += value;
      shifts.moved.push(value.toFixed(4) + ': ' + moved.join(', '));
    }
  }).observe({ type: 'layout-shift', buffered: true });
}`;
const SETTLED = `document.fonts.ready.then(() => new Promise((resolve) => {
  scrollTo(0, 0);
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
}))`;

/** The cumulative layout shift, and what has moved. */
type Shifts = { readonly sum: number; readonly moved: readonly string[] };
type Who = View['who'];

export class Studio {
  readonly #world: World;
  readonly #browser: Browser;
  readonly #pages = new Map<Who, Promise<{ readonly page: Page; readonly session: CDPSession }>>();

  private constructor(world: World, browser: Browser) {
    this.#world = world;
    this.#browser = browser;
  }

  static async open(scope: Scope, world: World): Promise<Studio> {
    const env = { ...process.env, FONTCONFIG_FILE: fontsFile() } as Record<string, string>;
    return new Studio(world, await startBrowser(scope, { env }));
  }

  /** A page on which everything of the view is there. */
  async show(view: View, width: Width = view.widths?.[0] ?? 1280): Promise<Sitter> {
    const { page, session } = await (this.#pages.get(view.who) ?? this.#enter(view.who));
    await page.setViewportSize(sizeOf(width));
    await page.unrouteAll();
    await view.prepare?.(page);
    await page.goto(this.#world.server.baseUrl + view.path(this.#world));
    await view.ready(page, this.#world);
    if (view.prepare === undefined) await wholeView(page);
    return new Sitter(view, page, session);
  }

  /** A page of 360 pixels that is no view. */
  async blank(html: string): Promise<Page> {
    const { page } = await openPageIn(this.#browser, { reducedMotion: 'reduce', viewport: sizeOf(360) });
    await page.setContent(html);
    return page;
  }

  #enter(who: Who): Promise<{ page: Page; session: CDPSession }> {
    const entering = this.#open(who);
    this.#pages.set(who, entering);
    return entering;
  }

  async #open(who: Who): Promise<{ page: Page; session: CDPSession }> {
    const { page } = await openPageIn(this.#browser, {
      reducedMotion: 'reduce',
      locale: 'en-US',
      timezoneId: 'UTC',
      viewport: sizeOf(1280),
    });
    await page.addInitScript(PREPARED);
    const { baseUrl, adminToken } = this.#world.server;
    if (who === 'visitor') {
      await giveWallets(page, [privateKeyToAccount(VISITOR_KEY)]);
      await page.goto(`${baseUrl}/account`);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Sign in with a wallet' }).click();
      await page.getByRole('button', { name: 'Sign out', exact: true }).first().waitFor();
    }
    if (who === 'operator') {
      await page.goto(`${baseUrl}/ops`);
      await page.getByLabel('Token of the operator').fill(adminToken);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    }
    return { page, session: await page.context().newCDPSession(page) };
  }
}

/** A view that is open. */
export class Sitter {
  readonly view: View;
  readonly page: Page;
  readonly #session: CDPSession;

  constructor(view: View, page: Page, session: CDPSession) {
    this.view = view;
    this.page = page;
    this.#session = session;
  }

  get widths(): readonly Width[] {
    return this.view.widths ?? WIDTHS;
  }

  async turn(width: Width, scheme: Scheme): Promise<void> {
    await this.page.setViewportSize(sizeOf(width));
    await this.page.emulateMedia({ colorScheme: scheme });
    await this.page.evaluate(SETTLED);
  }

  /** At 200 % half of the width has the same content. */
  async zoom(width: Width): Promise<void> {
    const { height } = sizeOf(width);
    await this.page.setViewportSize({ width: width / 2, height: height / 2 });
    await this.page.evaluate(SETTLED);
  }

  async print(width: Width): Promise<Print> {
    const pictures: Partial<Record<Scheme, Picture>> = {};
    for (const scheme of SCHEMES) {
      await this.turn(width, scheme);
      pictures[scheme] = pictureOf(await this.#screenshot());
    }
    const boxes = await readBoxes(this.page);
    return { boxes, pictures: pictures as Print['pictures'], holes: await this.#holes(width) };
  }

  async cutOff(): Promise<string[]> {
    return cutOff(this.page);
  }

  async moving(): Promise<string[]> {
    return moving(this.page);
  }

  /** Elements that have moved since the view was opened, unless a key or a click came just before. */
  async shifts(): Promise<Shifts> {
    return this.page.evaluate<Shifts>('shifts');
  }

  async #screenshot(): Promise<Buffer> {
    const { data } = await this.#session.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true });
    return Buffer.from(data, 'base64');
  }

  async #holes(width: Width): Promise<Hole[]> {
    if (this.view.measured === undefined) return [];
    const square = width / WIDTH;
    const boxes = await this.page
      .locator(this.view.measured)
      .evaluateAll((places) => places.map((place) => (place as unknown as HasBox).getBoundingClientRect()));
    return boxes.map(({ left, top, right, bottom }) => ({
      left: Math.floor(left / square),
      top: Math.floor(top / square),
      right: Math.ceil(right / square),
      bottom: Math.ceil(bottom / square),
    }));
  }
}

type HasBox = { getBoundingClientRect(): Hole };

function sizeOf(width: Width): { width: number; height: number } {
  return { width, height: HEIGHTS[width] };
}

/** Hinting moves edges of letters by the size of a pixel, and not on every machine in the same way. */
function fontsFile(): string {
  const directory = temporaryDirectory();
  const path = join(directory, 'fonts.conf');
  const alias = (family: string, font: string): string =>
    `<alias binding="same"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`;
  writeFileSync(
    path,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${FONTS}</dir>
    <cachedir>${directory}</cachedir>${alias('system-ui', 'Liberation Sans')}${alias('sans-serif', 'Liberation Sans')}
    ${alias('sans', 'Liberation Sans')}${alias('monospace', 'Liberation Mono')}
    <match target="pattern"><edit name="family" mode="append_last"><string>Liberation Sans</string></edit></match>
    <match target="font"><edit name="hinting" mode="assign"><bool>false</bool></edit></match></fontconfig>`,
  );
  return path;
}
