/** Every view that is looked at: who looks, where, and what has to be there before it is. */
import type { Page } from 'playwright-core';
import type { World } from './world.ts';

export const WIDTHS = [360, 768, 1280, 1920] as const;
export type Width = (typeof WIDTHS)[number];
export const HEIGHTS: Readonly<Record<Width, number>> = { 360: 740, 768: 1024, 1280: 800, 1920: 1080 };
export const SCHEMES = ['light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

/** Up to here the ticket is a sheet. */
const SHEET_WIDTH = 672;

export type View = {
  readonly name: string;
  readonly who: 'anyone' | 'visitor' | 'operator';
  readonly path: (world: World) => string;
  /** Before the page is opened: what is under way when the picture is taken stays so. */
  readonly prepare?: (page: Page) => Promise<unknown>;
  /** Resolves once all that the view has is there. */
  readonly ready: (page: Page, world: World) => Promise<void>;
  /** Other widths have nothing of their own. */
  readonly widths?: readonly Width[];
  /** Selects values that differ from run to run: their content is not compared, nor how long the view is. */
  readonly measured?: string;
};

export const VIEWS: readonly View[] = [
  view('home', 'anyone', '/', (page) => page.getByText(/ of \d+ events$/).waitFor()),
  view('search', 'anyone', '/?search=rain', (page) => page.locator('mark').first().waitFor()),
  {
    ...view('loading', 'anyone', '/', (page) => page.locator('.skeleton').first().waitFor()),
    prepare: (page) => page.route('**/v1/events/browse?*', () => {}),
  },
  view('event', 'anyone', '/events/mayor', async (page) => {
    await page.locator('.plot canvas').waitFor();
    await page.getByRole('link', { name: /^Buy/ }).first().waitFor();
  }),
  { ...view('market', 'anyone', '', market), path: ({ markets }) => `/markets/${markets.rain}` },
  { ...view('market without a price', 'anyone', '', live), path: ({ markets }) => `/markets/${markets.quiet}` },
  {
    ...view('market decided', 'anyone', '', (page) => page.getByText('the market is resolved').waitFor()),
    path: ({ markets }) => `/markets/${markets.decided}`,
  },
  {
    ...view('sign-in', 'anyone', '', async (page) => {
      await market(page);
      await openTicket(page);
      await page.getByRole('button', { name: /^Sign in to buy/ }).click();
      await page.getByRole('dialog').getByText('Sign in to trade').waitFor();
    }),
    path: ({ markets }) => `/markets/${markets.rain}?outcome=0`,
  },
  {
    ...view('shortcuts', 'anyone', '', async (page) => {
      await market(page);
      await page.keyboard.press('Alt+k');
      await page.getByRole('dialog').waitFor();
    }),
    path: ({ markets }) => `/markets/${markets.rain}`,
  },
  {
    ...view('menu', 'anyone', '/leaders', async (page) => {
      await leaders(page);
      await page.getByRole('button', { name: 'Menu' }).click();
    }),
    widths: [360],
  },
  view('leaders', 'anyone', '/leaders', leaders),
  view('docs', 'anyone', '/docs', (page) => page.getByRole('main').getByRole('link').first().waitFor()),
  view('docs guide', 'anyone', '/docs/signing', (page) => page.getByRole('button', { name: 'Copy' }).first().waitFor()),
  view('docs reference', 'anyone', '/docs/api/orders', (page) => page.getByRole('heading', { level: 1 }).waitFor()),
  view('nothing', 'anyone', '/markets/unknown', (page) => page.getByRole('heading', { level: 1 }).waitFor()),
  {
    ...view('ticket', 'visitor', '', async (page) => {
      await market(page);
      await openTicket(page);
      await page.getByLabel('Dollars').fill('25');
      await page.locator('.costs').getByText('Average price').waitFor();
      await page.getByRole('row', { name: /^Buy Yes 55¢/ }).waitFor();
    }),
    path: ({ markets }) => `/markets/${markets.rain}?outcome=0`,
  },
  {
    ...view('ticket limit', 'visitor', '', async (page) => {
      await market(page);
      await openTicket(page);
      await page.getByRole('tab', { name: 'Limit', exact: true }).click();
      await page.getByLabel('Price in cents').fill('57');
      await page.getByRole('textbox', { name: 'Tokens', exact: true }).fill('12,5');
    }),
    path: ({ markets }) => `/markets/${markets.rain}?outcome=0`,
  },
  view('portfolio', 'visitor', '/portfolio', async (page) => {
    await page.locator('.claims').getByRole('button', { name: 'Claim' }).waitFor();
    await page.locator('.plot canvas').waitFor();
  }),
  view('activity', 'visitor', '/activity', (page) => page.locator('.activity li').first().waitFor()),
  view('account', 'visitor', '/account', (page) => page.getByRole('button', { name: 'Take a break' }).waitFor()),
  view('cash', 'visitor', '/cash', (page) => page.getByText('None yet.').waitFor()),
  view('ops sign-in', 'anyone', '/ops', (page) => page.getByLabel('Token of the operator').waitFor()),
  {
    ...view('ops', 'operator', '/ops', (page) => page.locator('.chart canvas').nth(11).waitFor()),
    measured: 'main section, .top .status',
  },
  view('ops markets', 'operator', '/ops#markets', async (page, { markets }) => {
    await page.getByLabel('Id, or words').fill(markets.rain);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('heading', { name: 'Will it rain on Thursday?' }).waitFor();
  }),
  view('ops approvals', 'operator', '/ops#approvals', section('Approvals')),
  view('ops accounts', 'operator', '/ops#accounts', section('Accounts')),
  view('ops cashing', 'operator', '/ops#cashing', section('Cashing')),
  { ...view('ops audit', 'operator', '/ops#audit', section('Audit')), measured: 'td, th' },
];

function view(name: string, who: View['who'], path: string, ready: View['ready']): View {
  return { name, who, path: () => path, ready };
}

function live(page: Page): Promise<void> {
  return page.locator('.status strong', { hasText: /^Live$/ }).waitFor();
}

async function market(page: Page): Promise<void> {
  await live(page);
  await page.locator('.plot canvas').first().waitFor();
  await page.locator('.ladder tr.bid').first().waitFor();
}

/** On a telephone it is a sheet, which a button of an outcome opens. */
async function openTicket(page: Page): Promise<void> {
  if (page.viewportSize()!.width > SHEET_WIDTH) return;
  if ((await page.locator('[data-open="false"]').count()) > 0) await page.locator('.outcomes button').first().click();
}

async function leaders(page: Page): Promise<void> {
  await page.getByRole('columnheader', { name: 'Earned' }).waitFor();
  await page.getByRole('columnheader', { name: 'Size' }).waitFor();
}

function section(title: string): View['ready'] {
  return (page) => page.getByRole('heading', { level: 1, name: title }).waitFor();
}
