/**
 * Makes transactions from work: a batch of trades as large as a block and a node allow, or one movement. It is pure
 * apart from the rows it reads: the same work gives the same bytes.
 */
import { encodeAbiParameters, encodeFunctionData, type Hex, hexToBytes, keccak256, parseAbiParameters } from 'viem';
import { FEE_ACCOUNT } from '../../shared/base/codes.ts';
import { type Floors, floorOfRecord } from '../../shared/base/floors.ts';
import { type ChainTrade, encodeBatch } from '../../shared/chain/batch.ts';
import type { Draft } from '../../shared/chain/envelopeRows.ts';
import { EXCHANGE_ABI, PAYMENTS_ABI } from '../../shared/chain/exchangeAbi.ts';
import { marketIds, outcomeTokenIds } from '../../shared/chain/outcomeTokens.ts';
import { NO_MARKET } from '../../shared/wire/commands.ts';
import type { Rotation } from './rotation.ts';
import { isMove, sendingOrder } from './sendingOrder.ts';
import { structOf } from './signedColumns.ts';
import { KIND, type OrderRow, type Work, type WorkRows } from './work.ts';

const BATCH_GAS = 510_000;
/** Gas of the most expensive trade: two accounts get their first tokens of a market. Unused gas is not paid. */
const TRADE_GAS = 135_000;
/** Gas of the first match of a market that mints or merges full sets: it includes a split or a merge. */
const SETS_GAS = 180_000;
const MOVEMENT_GAS = 700_000;
/** The contract reserves the first for the last payment; no payment uses as much as the second. */
const PAYMENTS_GAS = 450_000;
const PAYMENT_GAS = 110_000;
/** A transaction's limit since EIP-7825, and a share of a block that leaves room for others. */
const MOST_GAS = 16_000_000;
const SHARE_OF_BLOCK = 0.8;
/** Nodes refuse transactions of more than 128 KiB. */
const MOST_BYTES = 130_000;
const TRANSACTION_BYTES = 500;
const ORDER_BYTES = 576;
const MATCH_BYTES = 160;
/** Gas to move one asset of an account: its tokens are sent, and the other contract credits them. */
const MOVED_GAS = 160_000;
const MOST_MOVED = 40;
const FEE_SHIFT = 128n;

export type Contracts = {
  readonly exchange: Hex;
  readonly marketFactory: Hex;
  readonly usdc: Hex;
  readonly conditionalTokens: Hex;
};
export type Chosen = {
  readonly work: readonly Work[];
  readonly exchange: Hex;
  /** The id of the batch; null for a movement. */
  readonly batch: Hex | null;
  readonly draft: Draft;
};

export class Drafts {
  readonly #rows: WorkRows;
  readonly #contracts: Contracts;
  readonly #rotation: Rotation;
  readonly #floors: Floors;

  constructor(rows: WorkRows, contracts: Contracts, rotation: Rotation, floors: Floors = []) {
    this.#floors = floors;
    this.#rows = rows;
    this.#rotation = rotation;
    this.#contracts = contracts;
  }

  /** The next transaction of work, in sending order; null if no work can be done yet. */
  next(pending: readonly Work[], blockGas: number): Chosen | null {
    const ordered = sendingOrder(pending);
    for (const [index, work] of ordered.entries()) {
      if (work.kind === KIND.TRADE) return this.#batch(ordered.slice(index), blockGas);
      if (isMove(work)) return this.#move(ordered.slice(index), blockGas);
      const draft = this.movement(work);
      if (draft !== null) return { work: [work], exchange: this.#rotation.exchange(work.exchange), batch: null, draft };
    }
    return null;
  }

  /** The first trades, up to the first work of another kind or contract, or to the bound. */
  #batch(pending: readonly Work[], blockGas: number): Chosen {
    // If a batch was reverted as a whole, it may have been too large or have had too little gas.
    const mostGas = Math.min(MOST_GAS, Math.floor(blockGas * SHARE_OF_BLOCK));
    const { failures } = pending[0];
    const most = Math.max(1, Math.floor(pending.length / 2 ** Math.min(failures, 8)));
    const tradeGas = TRADE_GAS * (1 + Math.min(failures, 4) / 4);
    const orders = new Set<number>();
    const markets = new Set<number>();
    const trades: { work: Work; trade: ChainTrade }[] = [];
    let [gas, bytes] = [BATCH_GAS, TRANSACTION_BYTES];
    let exchange: Hex | null = null;
    for (const work of pending) {
      if (work.kind !== KIND.TRADE || trades.length === most) break;
      const [maker, taker] = [this.#rows.order(work.maker_order!), this.#rows.order(work.taker_order!)];
      const contract = taker.exchange ?? this.#rotation.first;
      const fresh = [maker, taker].filter(({ id }) => !orders.has(id));
      const moreGas = tradeGas + (markets.has(work.market) ? 0 : SETS_GAS);
      const moreBytes = MATCH_BYTES + fresh.length * ORDER_BYTES;
      const isFull = gas + moreGas > mostGas || bytes + moreBytes > MOST_BYTES;
      if (trades.length > 0 && (isFull || contract !== exchange)) break;
      exchange = contract;
      gas += moreGas;
      bytes += moreBytes;
      markets.add(work.market);
      for (const { id } of fresh) orders.add(id);
      trades.push({ work, trade: this.#trade(work, maker, taker) });
    }
    const chosen = trades.map(({ work }) => work);
    const batch = batchId(chosen);
    const data = encodeBatch(
      batch,
      trades.map(({ trade }) => trade),
    );
    return { work: chosen, exchange: exchange!, batch, draft: { to: exchange!, data, gas } };
  }

  #trade(work: Work, maker: OrderRow, taker: OrderRow): ChainTrade {
    return {
      shard: work.shard,
      tradeSequence: work.sequence,
      taker: chainOrder(taker),
      maker: chainOrder(maker),
      makerOutcome: maker.outcome,
      matchType: work.match_type!,
      lots: work.amount,
      yesTicks: work.yes_ticks!,
      ticksPerUnit: this.#rows.market(work.market).ticks_per_unit,
    };
  }

  /** Returns null if the account's wallet is not known. */
  movement(work: Work): Draft | null {
    const account = this.#escrow(work);
    if (account === null) return null;
    return { to: this.#rotation.exchange(work.exchange), data: this.#movementData(work, account), gas: MOVEMENT_GAS };
  }

  /**
   * Drafts payments at one exchange contract for accounts whose wallets are known. A payment that fails does not fail
   * the others.
   */
  payments(contract: Hex, work: readonly Work[]): Draft {
    const payments = work.map((each) => {
      const [operation, isRelease] = [operationId(each, this.#floors), each.kind === KIND.RELEASE];
      return { operationId: operation, account: this.#escrow(each)!, amount: amountAndFee(each), isRelease };
    });
    const args = [this.#rotation.exchange(work[0].exchange), payments] as const;
    const data = encodeFunctionData({ abi: PAYMENTS_ABI, functionName: 'pay', args });
    return { to: contract, data, gas: PAYMENTS_GAS + work.length * PAYMENT_GAS };
  }

  /** Moves everything that an account holds of these assets to the successor; a repeat moves nothing. */
  #move(pending: readonly Work[], blockGas: number): Chosen {
    const [first] = pending;
    const exchange = this.#rotation.exchange(first.exchange);
    const room = (Math.min(MOST_GAS, Math.floor(blockGas * SHARE_OF_BLOCK)) - BATCH_GAS) / (2 * MOVED_GAS);
    const most = Math.max(1, Math.floor(Math.min(MOST_MOVED, room) / 2 ** Math.min(first.failures, 8)));
    const end = pending.findIndex((work) => !isMove(work) || work.exchange !== first.exchange);
    const work = pending.slice(0, Math.min(most, end === -1 ? pending.length : end));
    const pairs = work.flatMap((each) => this.#assetsOf(each).map((asset) => [this.#escrow(each)!, asset] as const));
    const args = [pairs.map(([account]) => account), pairs.map(([, asset]) => asset)] as const;
    const data = encodeFunctionData({ abi: EXCHANGE_ABI, functionName: 'migrate', args });
    return { work, exchange, batch: null, draft: { to: exchange, data, gas: BATCH_GAS + pairs.length * MOVED_GAS } };
  }

  #assetsOf({ market }: Work): bigint[] {
    if (market === NO_MARKET) return [0n];
    const { marketFactory, usdc: collateral } = this.#contracts;
    const idBytes = hexToBytes(this.#rows.market(market).uuid);
    return outcomeTokenIds({ marketFactory, collateral }, idBytes).map(BigInt);
  }

  #movementData(work: Work, account: Hex): Hex {
    const abi = EXCHANGE_ABI;
    if (work.kind === KIND.CLAIM) {
      return encodeFunctionData({ abi, functionName: 'claim', args: [account, this.#conditionId(work.market)] });
    }
    const [id, amount] = [operationId(work, this.#floors), amountAndFee(work)];
    if (work.kind === KIND.WITHDRAWAL || work.kind === KIND.RELEASE) {
      const functionName = work.kind === KIND.RELEASE ? 'release' : 'withdrawFor';
      return encodeFunctionData({ abi, functionName, args: [id, account, 0n, amount] });
    }
    const condition = this.#conditionId(work.market);
    const functionName = work.kind === KIND.SPLIT ? 'splitFor' : 'mergeFor';
    return encodeFunctionData({ abi, functionName, args: [id, account, condition, amount] });
  }

  #conditionId(market: number): Hex {
    const uuid = hexToBytes(this.#rows.market(market).uuid);
    return marketIds(this.#contracts.marketFactory, uuid).conditionId;
  }

  #escrow({ account, exchange }: Work): Hex | null {
    return account === FEE_ACCOUNT ? this.#rotation.exchange(exchange) : this.#rows.escrow(account);
  }
}

/** Amount and fee in one word, as the contract expects it: the fee is in the high half. */
function amountAndFee({ amount, fee_micro }: Work): bigint {
  return BigInt(amount) | (BigInt(fee_micro) << FEE_SHIFT);
}

function chainOrder(row: OrderRow): ChainTrade['maker'] {
  return { hash: row.hash, order: structOf(row), signature: row.signature };
}

/** A retried trade is in another batch; the contract carries each batch out once. */
function batchId(trades: readonly Work[]): Hex {
  const parts = trades.map(({ shard, sequence, failures }) => [BigInt(shard), BigInt(sequence), BigInt(failures)]);
  return keccak256(encodeAbiParameters(parseAbiParameters('string, uint256[]'), ['trades', parts.flat()]));
}

/**
 * The contract carries each operation out once. The id must differ after a restore, when a new record can have an old
 * record's number.
 */
export function operationId(
  { kind, shard, sequence, part }: Pick<Work, 'kind' | 'shard' | 'sequence' | 'part'>,
  floors: Floors,
): Hex {
  const floor = floorOfRecord(floors, shard, sequence);
  const parts = [kind, shard, sequence, part, ...(floor === 0 ? [] : [floor])].map(BigInt);
  return keccak256(encodeAbiParameters(parseAbiParameters('string, uint256[]'), ['movement', parts]));
}
