/** Every action of /ops: what its dialog says before it is confirmed, as the tests press it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';

type ActionRow = {
  /** The label as the source of the page has it, its parts that are computed as dots. */
  readonly source: string;
  readonly label: RegExp;
  /** The consequence. */
  readonly says: RegExp;
};

const HOLDERS = 'Accounts with tokens of it: [0-9,]+; they get [0-9.,]+ USDC in all\\.';
const ORDERS = '(?:There are no open orders|Open orders: (?:at least )?[0-9,]+.*; they (?:stay.*|are cancelled))\\.';

const ROWS: readonly ActionRow[] = [
  {
    source: "{last.paused ? 'Resume placing' : 'Pause placing'}",
    label: /^(?:Pause|Resume) placing$/,
    says: new RegExp(`^(?:New orders are refused in .*\\. ${ORDERS} Claims|Orders are accepted again|The pause ends)`),
  },
  {
    source: '"Resume into cancel-only"',
    label: /^Resume into cancel-only$/,
    says: /^The pause ends, and every market takes cancels alone until it is stepped on\.$/,
  },
  {
    source: '"Back up now"',
    label: /^Back up now$/,
    says: /^[0-9.]+ [KMG]?B are copied into .*, 40 MB a second at most\. Trading goes on\.$/,
  },
  {
    source: '{`…: …`}',
    label: /^(?:Every market|The market|All markets of its event): (?:cancel-only|post-only|open)$/,
    says: new RegExp(`^.*, now in [a-z-]+, (?:takes|trades) .*\\. (?:${ORDERS}|Their open orders stay\\.)$`),
  },
  {
    source: '{`Promote …`}',
    label: /^Promote /,
    says: / leads within seconds\. This member ends, and begins anew/,
  },
  {
    source: '"Pause the market"',
    label: /^Pause the market$/,
    says: new RegExp(`^New orders are refused in this market\\. ${ORDERS}$`),
  },
  {
    source: '"Resume the market"',
    label: /^Resume the market$/,
    says: new RegExp(`^Orders are accepted again in this market\\. ${ORDERS}$`),
  },
  {
    source: '{`Resolve: …`}',
    label: /^Resolve: /,
    says: new RegExp(`^Each token of .* pays (?:1\\.00 USDC|nothing), of .*${HOLDERS} ${ORDERS} This cannot`),
  },
  {
    source: '"Cancel the market"',
    label: /^Cancel the market$/,
    says: new RegExp(`^Each token of .* pays 0\\.50 USDC, .*${HOLDERS} ${ORDERS} This cannot`),
  },
  {
    source: '"Settle"',
    label: /^Settle$/,
    says: /^Every holder who has not claimed is paid, [0-9.,]+ USDC at most\. Accounts with tokens of it: [0-9,]+\.$/,
  },
  { source: '"Approve"', label: /^Approve$/, says: /^It is carried out at once: .*\.$/ },
  { source: '"Reject"', label: /^Reject$/, says: /^Nothing is carried out: .*\.$/ },
  {
    source: '{label}',
    label: /^(?:Open it|Close only|Freeze)$/,
    says: /^The account may (?:do everything again\.|.* USDC in orders and .* USDC besides stay its own\.)$/,
  },
];

const OPS = new URL('../../gateway/web/browser/ops/', import.meta.url);
const pressed = new Set<string>();

/** Reads the consequence, confirms, and waits until what became of it is there, with its entry of the audit log. */
export async function confirm(page: Page, name: string): Promise<void> {
  const change = await confirmUnlogged(page, name);
  await change.getByText(/^Audit entry [0-9]+, .*, by .+\.$/).waitFor();
}

/** The same for a change after which this exchange shows no audit log. */
export async function confirmUnlogged(page: Page, name: string): Promise<Locator> {
  const row = ROWS.find(({ label }) => label.test(name));
  assert.ok(row !== undefined, `${name} is an action`);
  await page.getByRole('button', { name, exact: true }).click();
  const dialog = page.getByRole('dialog', { name, exact: true });
  await dialog.getByText(row.says).waitFor();
  await dialog.getByRole('button', { name, exact: true }).click();
  const changes = page.getByRole('region', { name: 'What you have changed' }).getByRole('listitem');
  const change = changes.filter({ hasText: `${name}: ` }).first();
  await change.waitFor();
  pressed.add(row.source);
  return change;
}

/** Each action that the sources of the page have, and each that was not pressed. */
export function actionsOf(): { readonly sources: string[]; readonly known: string[]; readonly left: string[] } {
  const text = readdirSync(OPS).map((name) => readFileSync(new URL(name, OPS), 'utf8'));
  const found = text.flatMap((each) => [
    ...each.matchAll(/<\$\{Action\}[\s\S]*?\blabel=(?:\$(\{.*?\})(?=[\s>])|("[^"]*"))/g),
  ]);
  const known = ROWS.map(({ source }) => source);
  return {
    sources: found.map(([, code, literal]) => (code ?? literal!).replace(/\$\{[^}]*\}/g, '…')).sort(),
    known: known.toSorted(),
    left: known.filter((source) => !pressed.has(source)),
  };
}
