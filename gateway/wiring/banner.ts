/**
 * The lines that a start prints for a user who starts the server by hand. A secret is printed only when it is made, and
 * only to a terminal: a pipe or a file is kept as a log, which others than the operator read (RULES.md 10.10).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Demo, OpenedDemo } from './demo.ts';
import { flowAccounts } from './demoFile.ts';

type BannerOptions = {
  readonly baseUrl: string;
  /** URL of the page for administrators. */
  readonly operationsUrl: string;
  readonly dataDir: string;
  /** The administrator's token, if this start has made it. */
  readonly newToken: string | null;
  /** The demo that the start has opened. Null without a demo. */
  readonly opened: OpenedDemo | null;
  /** True if a program trades in the demo. */
  readonly flows: boolean;
  /** True if the demo has started its provider. */
  readonly hasRamp: boolean;
  /** True if a person reads the output while it is printed. */
  readonly isTerminal: boolean;
};

/** File in the data directory, readable by its owner alone: the token of a first start that printed to no terminal. */
const ADMIN_TOKEN_FILE = 'admin.token';

/**
 * The first line that a person sees who starts the demo. The rehearsal, and making the demo at a first start, take so
 * long that an empty terminal would look like a fault, and a warning printed before the addresses like the end of the
 * start.
 */
export function startingLine(isDemo: boolean, isTerminal: boolean): string | null {
  if (!isDemo || !isTerminal) return null;
  return '\n  Starting: its addresses come in some seconds, at the first start in up to a minute.\n';
}

/**
 * Returns the lines to print; none if there is nothing to say. Writes a new token that may not be printed to a file.
 */
export function banner(options: BannerOptions): string[] {
  const { baseUrl, operationsUrl, dataDir, newToken, opened, isTerminal } = options;
  const lines: string[] = [];
  if (newToken !== null) lines.push(...tokenLines(newToken, dataDir, isTerminal));
  if (opened !== null) lines.push(...demoLines(opened.demo, opened.isNew && isTerminal, options));
  if (lines.length === 0) return [];
  const where = [
    `  Exchange     ${baseUrl}   open it in a browser`,
    `  Documents    ${baseUrl}/docs`,
    `  Operations   ${operationsUrl}   sign in with the admin token`,
  ];
  return ['', ...where, ...lines, ''];
}

function tokenLines(token: string, dataDir: string, isTerminal: boolean): string[] {
  if (isTerminal) return ['', `  Admin token  ${token}`, '               shown only now; ADMIN_TOKEN sets another'];
  const path = join(dataDir, ADMIN_TOKEN_FILE);
  writeFileSync(path, `${token}\n`, { mode: 0o600, flush: true });
  return ['', `  Admin token  in ${path}`, '               delete the file once you keep the token elsewhere'];
}

function demoLines({ accounts, market_id, flow }: Demo, areKeysShown: boolean, options: BannerOptions): string[] {
  const { dataDir, flows, hasRamp } = options;
  const lines = ['', `  Demo keys    ${areKeysShown ? 'also in' : 'in'} ${dataDir}/demo.json`];
  if (areKeysShown) {
    const ofFlow = flow === undefined ? [] : flowAccounts(flow);
    const visitors = accounts.filter(({ name }) => !ofFlow.includes(name));
    for (const { name, key_id, secret, passphrase, wallet_address } of visitors) {
      lines.push(
        `    ${name.padEnd(10)} wallet      ${wallet_address}`,
        `               key id      ${key_id}`,
        `               secret      ${secret}`,
        `               passphrase  ${passphrase}`,
      );
    }
  }
  if (flows) lines.push(`  Demo flow    quotes hundreds of markets and trades in them; DEMO_FLOW=off stops it`);
  lines.push(
    '',
    '  Place an order from another terminal:',
    '',
    `    npx pmx place ${market_id} --side buy --outcome yes --price 0.55 --size 10`,
  );
  if (hasRamp) lines.push('', '  Cash in at a provider that only pretends:', '', '    npx pmx fiat in 25');
  return lines;
}
