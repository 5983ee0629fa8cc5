/**
 * `admin chain reconcile`: what each account has in the ledger against what the chain holds for it (RULES.md 17.24). It
 * reads settlement.db and asks the node, also beside a running exchange.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OUTCOME } from '../../shared/base/codes.ts';
import { nodeUrls } from '../../shared/chain/nodes.ts';
import { CannotCompare, type ComparedBalance, compareWhole } from '../settlement/wholeComparison.ts';
import { AdminError } from './directory.ts';
import { table } from './table.ts';

type ChainReport = { readonly lines: readonly string[]; readonly isEqual: boolean };

const HEAD = ['', 'account', 'wallet', 'asset', 'ledger', 'under way', 'on chain', 'difference'];

/** @param isWhole every balance is in the report, and not only those that differ. */
export async function reconcileChain(directory: string, rpcUrl: string, isWhole: boolean): Promise<ChainReport> {
  const path = join(directory, 'settlement.db');
  if (!existsSync(path)) throw new AdminError(`${path} does not exist: this exchange does not settle on a chain`);
  if (rpcUrl === '') throw new AdminError('RPC_URL: set it to a node of the chain');
  if (!nodeUrls(rpcUrl).every((url) => URL.canParse(url))) throw new AdminError('RPC_URL: not a URL');
  const { block, balances } = await compared(path, rpcUrl);
  const different = balances.filter(({ isDifferent }) => isDifferent);
  const shown = isWhole ? [...different, ...balances.filter(({ isDifferent }) => !isDifferent)] : different;
  const accounts = new Set(balances.map(({ account }) => account).filter((account) => account !== null));
  const counts = `${balances.length} balances of ${accounts.size} accounts at block ${block}`;
  return {
    lines: [
      ...(shown.length === 0 ? [] : table([HEAD, ...shown.map(cells)])),
      `${counts}: ${different.length === 0 ? 'ledger and chain are equal' : `${different.length} differ`}`,
    ],
    isEqual: different.length === 0,
  };
}

async function compared(path: string, rpcUrl: string) {
  try {
    return await compareWhole(path, rpcUrl);
  } catch (error) {
    throw error instanceof CannotCompare ? new AdminError(error.message) : error;
  }
}

function cells(balance: ComparedBalance): string[] {
  const { account, wallet, token, ledger, underWay, held, difference, isDifferent } = balance;
  return [
    isDifferent ? 'DIFFERS' : 'equal',
    account === null ? 'all' : String(account),
    wallet ?? '-',
    token === null ? 'USDC' : `${token.outcome === OUTCOME.YES ? 'Yes' : 'No'} of ${token.marketId}`,
    ...[ledger, underWay, held, difference].map(String),
  ];
}
