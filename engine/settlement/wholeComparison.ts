/**
 * Compares every balance of ledger and chain, for a tool. settlement.db is only read, as of one moment (RECONCILE-1):
 * the exchange may be running on it.
 */
import type Database from 'better-sqlite3';
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import { bytesToUuid, lowerHex, tryParseHex, UUID_BYTES } from '../../shared/base/hex.ts';
import { preparedValue } from '../../shared/base/prepared.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import { ChainNode, type Hex } from '../../shared/chain/node.ts';
import { openNodes } from '../../shared/chain/nodes.ts';
import { NodeUnreachable, RpcError } from '../../shared/chain/rpc.ts';
import { Markets } from './chainMarkets.ts';
import { type Balance, differenceOf, isDifferent, isSettledAfter, Reconciliation } from './reconciliation.ts';
import { Scanner } from './scanner.ts';
import { readSettlementDb } from './settlementDb.ts';
import { outcomeOfAsset, USDC } from './underWay.ts';

/** Balances cannot be compared now. The message is one line for the operator. */
export class CannotCompare extends Error {
  override readonly name = 'CannotCompare';
}

export type ComparedBalance = Pick<Balance, 'account' | 'ledger' | 'underWay' | 'held'> & {
  /** Null if settlement knows no wallet, and for the sum of all accounts. */
  readonly wallet: string | null;
  /** Null for USDC. */
  readonly token: { readonly marketId: string; readonly outcome: number } | null;
  readonly difference: bigint;
  readonly isDifferent: boolean;
};
type Comparison = { readonly block: number; readonly balances: readonly ComparedBalance[] };

/**
 * Throws CannotCompare.
 * @param path of settlement.db.
 */
export async function compareWhole(path: string, rpcUrl: string): Promise<Comparison> {
  const db = readSettlementDb(path);
  if (db === null) throw new CannotCompare(`${path} has another layout than this version reads`);
  try {
    // Fixes one state of the file, however long the node takes.
    db.exec('BEGIN');
    return await compare(db, new ChainNode(openNodes(rpcUrl)));
  } catch (error) {
    if (!(error instanceof NodeUnreachable || error instanceof RpcError)) throw error;
    throw new CannotCompare(`the node of RPC_URL: ${error.message}`);
  } finally {
    db.close();
  }
}

async function compare(db: Database.Database, node: ChainNode): Promise<Comparison> {
  const ignored = (): void => undefined;
  const scanner = new Scanner({ db, node, nowMs: () => 0, onEvents: ignored, onRequests: ignored });
  const block = scanner.scannedBlock();
  if (block === null) throw new CannotCompare('settlement has not read the chain yet');
  if (isSettledAfter(db, block)) {
    throw new CannotCompare(
      `settlement has read the chain up to block ${block} only, and settled work later: try again`,
    );
  }
  const exchange = scanner.exchanges()[0];
  const [usdc, marketFactory] = [
    await addressOf(node, exchange, 'usdc'),
    await addressOf(node, exchange, 'marketFactory'),
  ];
  const markets = new Markets(db, { marketFactory, collateral: usdc });
  const options = { db, node, markets, usdc, exchanges: () => scanner.exchanges() };
  const balances = await new Reconciliation(options).all(block);
  return { block, balances: balances.map((balance) => named(db, balance)) };
}

function named(db: Database.Database, balance: Balance): ComparedBalance {
  const { account, asset, ledger, underWay, held } = balance;
  const wallet = preparedValue<[number | null], string>(db, 'SELECT address FROM escrows WHERE account = ?');
  return {
    ...{ account, ledger, underWay, held },
    wallet: wallet.get(account) ?? null,
    token: asset === USDC ? null : tokenOf(db, asset),
    difference: differenceOf(balance),
    isDifferent: isDifferent(balance),
  };
}

function tokenOf(db: Database.Database, asset: number): { marketId: string; outcome: number } {
  const { market, outcome } = outcomeOfAsset(asset);
  const uuid = preparedValue<[number], string>(db, 'SELECT uuid FROM markets WHERE market = ?').get(market)!;
  const bytes = new Uint8Array(UUID_BYTES);
  tryParseHex(uuid, UUID_BYTES, bytes, 0);
  return { marketId: bytesToUuid(bytes), outcome };
}

async function addressOf(node: ChainNode, exchange: Hex, functionName: 'usdc' | 'marketFactory'): Promise<Hex> {
  const call = { abi: EXCHANGE_ABI, functionName } as const;
  const data = await node.view(exchange, encodeFunctionData(call), 'latest');
  if (data.length !== 2 + 64) throw new CannotCompare(`RPC_URL: no contract of an exchange is at ${exchange} there`);
  return lowerHex(decodeFunctionResult({ ...call, data }));
}
