/**
 * After a restore to an earlier time, finds the operations that only the chain has: trades, splits, merges and
 * withdrawals that the exchange had sent and that no journal has any more. The contract's events and the calls that
 * caused them say exactly whose balances changed and by how much, so `admin chain adopt` can pass them to the ledger
 * (RULES.md 17.44).
 *
 * Invariants:
 *   TAKEOVER-1  Each operation is named by its log entry on the chain, so the ledger takes it over once, however often
 *               the search runs. An operation whose number settlement or a journal knows is not reported.
 *   TAKEOVER-2  An operation that cannot be proved, or whose wallet or market the ledger does not know, is reported and
 *               not taken over.
 */

import type Database from 'better-sqlite3';
import { decodeEventLog, decodeFunctionData, encodeEventTopics, encodeFunctionData } from 'viem';
import { systemClock } from '../../shared/base/clock.ts';
import { OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { placeOfTrade } from '../../shared/chain/batch.ts';
import { EXCHANGE_ABI } from '../../shared/chain/exchangeAbi.ts';
import type { ChainNode, Hex, PlacedLog } from '../../shared/chain/node.ts';
import type { TakenOver } from '../../shared/wire/chainQuestions.ts';
import type { UnwindingChanges } from '../../shared/wire/tradeQuestions.ts';
import { ChainLogs } from '../settlement/chainLogs.ts';
import { Markets } from '../settlement/chainMarkets.ts';

const SENT = ['MatchSettled', 'SplitFor', 'MergedFor', 'PaidOut', 'Released'] as const;
/** The fee of a movement has a log entry of its own in the same transaction. */
const CHARGED = 'MovementCharged';
const TOPICS = ([...SENT, CHARGED] as const).map(topicOf);
const NOTHING = [0, 0, 0] as const;
type Change = UnwindingChanges['maker'];

/** The operations that the journals and settlement.db know, by their numbers on the chain. */
export type KnownWork = {
  readonly hasTrade: (tradeId: bigint) => boolean;
  readonly hasOperation: (id: Hex) => boolean;
};

export type TakenEvent = {
  readonly exchange: Hex;
  readonly log: PlacedLog;
  readonly wallet: string;
  readonly amount: bigint;
  /** The fee that the account paid for it, unless `taken` says so. */
  readonly feeMicro: bigint;
  /** Null: USDC was paid out to the wallet. */
  readonly taken: TakenOver | null;
};
type OnlyOnChain = {
  /** In the order of the chain. */
  readonly events: readonly TakenEvent[];
  /** By event: the reason why it is not taken over. */
  readonly unclear: readonly string[];
  /** The number of operations in blocks that the chain may still revert. */
  readonly early: number;
};
type Blocks = { readonly final: number; readonly head: number };
type Sent = ReturnType<typeof decoded>;
type Settled = Extract<Sent, { eventName: 'MatchSettled' }>['args'];

export async function onlyOnChain(
  db: Database.Database,
  control: Database.Database,
  node: ChainNode,
  known: KnownWork,
  { final, head }: Blocks,
): Promise<OnlyOnChain> {
  const scans = db.prepare<[], { exchange: Hex; next_block: number | null }>('SELECT * FROM scans').all();
  const logs = new ChainLogs(node, () => systemClock.nowMs());
  const events: TakenEvent[] = [];
  const unclear: string[] = [];
  let early = 0;
  for (const { exchange, next_block } of scans) {
    const found = await logs.all(exchange, TOPICS, next_block ?? 0, head);
    const fees = feesIn(found);
    const movements = found.filter(({ topics }) => topics[0] !== topicOf(CHARGED));
    const unknown = movements.map((log) => ({ log, sent: decoded(log) })).filter(({ sent }) => !isKnown(sent, known));
    const stays = unknown.filter(({ log }) => log.blockNumber <= final);
    early += unknown.length - stays.length;
    await logs.verify(stays.map(({ log }) => log));
    if (stays.length === 0) continue;
    const reading = new Reading(node, control, await marketsOf(db, node, exchange), fees);
    for (const { log, sent } of stays) {
      const read = await reading.read(sent, log);
      if (typeof read === 'string') unclear.push(`${sent.eventName} in ${log.transactionHash}: ${read}`);
      else events.push({ exchange, log, ...read });
    }
  }
  events.sort((a, b) => a.log.blockNumber - b.log.blockNumber || a.log.logIndex - b.log.logIndex);
  return { events, unclear, early };
}

function topicOf(eventName: (typeof SENT)[number] | typeof CHARGED): Hex {
  return encodeEventTopics({ abi: EXCHANGE_ABI, eventName })[0];
}

/** Fees by the id of the operation. */
function feesIn(logs: readonly PlacedLog[]): ReadonlyMap<Hex, bigint> {
  const charged = logs.filter(({ topics }) => topics[0] === topicOf(CHARGED));
  return new Map(charged.map(({ topics, data }) => [topics[1], BigInt(data)]));
}

function decoded({ topics, data }: PlacedLog) {
  const event = decodeEventLog({ abi: EXCHANGE_ABI, topics: [topics[0], ...topics.slice(1)], data });
  switch (event.eventName) {
    case 'MatchSettled':
    case 'SplitFor':
    case 'MergedFor':
    case 'PaidOut':
    case 'Released':
      return event;
    default:
      throw new Error(`no question was for the event ${event.eventName}`);
  }
}

function isKnown(sent: Sent, { hasTrade, hasOperation }: KnownWork): boolean {
  return sent.eventName === 'MatchSettled' ? hasTrade(sent.args.tradeId) : hasOperation(sent.args.operationId);
}

async function marketsOf(db: Database.Database, node: ChainNode, exchange: Hex): Promise<Markets> {
  const addressOf = async (functionName: 'marketFactory' | 'usdc'): Promise<Hex> => {
    const answer = await node.view(exchange, encodeFunctionData({ abi: EXCHANGE_ABI, functionName }), 'latest');
    return `0x${answer.slice(-40)}`;
  };
  return new Markets(db, { marketFactory: await addressOf('marketFactory'), collateral: await addressOf('usdc') });
}

type Read = Pick<TakenEvent, 'wallet' | 'amount' | 'feeMicro' | 'taken'>;

/** Derives the changes of balances that an event stands for. */
class Reading {
  readonly #node: ChainNode;
  readonly #markets: Markets;
  readonly #account: Database.Statement<[string], number>;
  readonly #fees: ReadonlyMap<Hex, bigint>;
  /** The batch that was read last, kept because a batch has many trades. */
  #batch: { readonly hash: Hex; readonly args: BatchArgs | null } | null = null;

  constructor(node: ChainNode, control: Database.Database, markets: Markets, fees: ReadonlyMap<Hex, bigint>) {
    this.#fees = fees;
    this.#node = node;
    this.#markets = markets;
    this.#account = control.prepare<[string], number>('SELECT account_index FROM wallets WHERE address = ?').pluck();
  }

  /** Returns a text if the event cannot be taken over: the reason (TAKEOVER-2). */
  async read(sent: Sent, log: PlacedLog): Promise<Read | string> {
    switch (sent.eventName) {
      case 'MatchSettled':
        return this.#trade(sent.args, log);
      case 'SplitFor':
      case 'MergedFor': {
        const { account, conditionId, amount } = sent.args;
        const market = this.#markets.withCondition(conditionId.toLowerCase());
        const sets = (sent.eventName === 'SplitFor' ? 1 : -1) * Number(amount);
        const fee = Number(this.#fees.get(sent.args.operationId) ?? 0n);
        const changes = { maker: [-sets - fee, sets, sets], taker: NOTHING, fee: [fee, 0, 0] } as const;
        return this.#of(account, account, market, amount, { tradeSequence: 0, changes });
      }
      case 'PaidOut':
      case 'Released': {
        const { account, assetId, amount } = sent.args;
        if (assetId !== 0n) return 'it paid out tokens';
        const wallet = account.toLowerCase();
        const feeMicro = this.#fees.get(sent.args.operationId) ?? 0n;
        return this.#isUnknown(wallet) ?? { wallet, amount, feeMicro, taken: null };
      }
    }
  }

  async #trade(args: Settled, { transactionHash, address }: PlacedLog): Promise<Read | string> {
    const { tradeId, tokens } = args;
    const batch = await this.#batchOf(transactionHash, address);
    const match = batch?.[2].find((each) => each.tradeId === tradeId);
    const [maker, taker] = [match?.maker, match?.taker].map((at) => batch?.[1][Number(at ?? -1)]?.order);
    if (match === undefined || maker === undefined || taker === undefined) return 'its transaction is no batch with it';
    if (match.tokens !== tokens || match.makerMicro !== args.makerMicro) return 'its batch says something else';
    const market = this.#markets.withToken(String(maker.tokenId));
    if (market === null) return 'its market is not known here';
    const takerMicro = maker.side === taker.side ? tokens - args.makerMicro : args.makerMicro;
    const sides = [
      this.#change(market, maker, tokens, args.makerMicro, args.makerFee),
      this.#change(market, taker, tokens, takerMicro, args.takerFee),
    ] as const;
    const feeOf = (asset: 0 | 1 | 2): number => sides[0].fee[asset] + sides[1].fee[asset];
    const fee: Change = [feeOf(0), feeOf(1), feeOf(2)];
    const changes = { maker: sides[0].own, taker: sides[1].own, fee };
    const { tradeSequence } = placeOfTrade(tradeId);
    return this.#of(maker.maker, taker.maker, market, tokens, { tradeSequence, changes });
  }

  /** An order gives USDC for tokens, or tokens for USDC; the fee is taken from the asset that it receives. */
  #change(market: number, { side, tokenId }: SignedOrder, tokens: bigint, micro: bigint, fee: bigint) {
    const outcome = this.#markets.tokensOf(market).indexOf(String(tokenId));
    const changeOf = (ofMicro: bigint, ofTokens: bigint): Change => {
      const [paid, atomic] = [Number(ofMicro), Number(ofTokens)];
      return outcome === OUTCOME.YES ? [paid, atomic, 0] : [paid, 0, atomic];
    };
    if (side === SIDE.BUY) return { own: changeOf(-micro, tokens - fee), fee: changeOf(0n, fee) };
    return { own: changeOf(micro - fee, -tokens), fee: changeOf(fee, 0n) };
  }

  #of(
    makerAddress: string,
    takerAddress: string,
    market: number | null,
    amount: bigint,
    { tradeSequence, changes }: Pick<TakenOver, 'tradeSequence' | 'changes'>,
  ): Read | string {
    if (market === null) return 'its market is not known here';
    const [wallet, taker] = [makerAddress.toLowerCase(), takerAddress.toLowerCase()];
    const unknown = this.#isUnknown(wallet) ?? this.#isUnknown(taker);
    return unknown ?? { wallet, amount, feeMicro: 0n, taken: { taker, market, tradeSequence, changes } };
  }

  #isUnknown(wallet: string): string | null {
    return this.#account.get(wallet) === undefined ? `no account here has the wallet ${wallet}` : null;
  }

  async #batchOf(hash: Hex, exchange: Hex): Promise<BatchArgs | null> {
    if (this.#batch?.hash === hash) return this.#batch.args;
    const call = await this.#node.callOf(hash);
    this.#batch = { hash, args: call?.to === exchange ? batchIn(call.input) : null };
    return this.#batch.args;
  }
}

type SignedOrder = { readonly maker: string; readonly tokenId: bigint; readonly side: number };
type Match = {
  readonly tradeId: bigint;
  readonly taker: bigint;
  readonly maker: bigint;
  readonly tokens: bigint;
  readonly makerMicro: bigint;
};
/** The arguments of a call of `settleBatch`. */
type BatchArgs = readonly [batchId: Hex, orders: readonly { readonly order: SignedOrder }[], matches: readonly Match[]];

/** Null for any other call. */
function batchIn(input: Hex): BatchArgs | null {
  try {
    const { functionName, args } = decodeFunctionData({ abi: EXCHANGE_ABI, data: input });
    return functionName === 'settleBatch' ? (args as unknown as BatchArgs) : null;
  } catch {
    return null;
  }
}
