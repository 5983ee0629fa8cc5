/**
 * Carries into the ledger what has happened on the chain first: deposits, full sets and claims of wallets, exits,
 * accounts that leave, and transactions that the exchange had sent before it was restored to an earlier time.
 * Owner: the gateway thread.
 *
 * Invariants:
 *   GATEMONEY-1  The settlement thread knows the account of a movement, and so its name in the ledger, before the
 *                ledger gets it. A repeat has the same name and is carried out once.
 *   GATEMONEY-2  Only the first wallet of an account has its funds in escrow: the ledger counts nothing else on the
 *                chain as the account's.
 *   GATEMONEY-3  Before an account gets money of a wallet, it is frozen if the wallet leaves, and has the floor of the
 *                wallet's nonces if there is one (CONTRACTFLOORS-3).
 *   GATEMONEY-4  Before a trade or movement of the chain is taken over, the open orders of its accounts are cancelled:
 *                they are older, the trade may have filled them, and they may reserve the money that it moved.
 */
import { FUND_MOVEMENT, MOVEMENT } from '../../shared/base/codes.ts';
import { E, errorRow, OK } from '../../shared/base/errors.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { ChainNews, TakenOver } from '../../shared/wire/chainQuestions.ts';
import type { Accounts } from '../account/accounts.ts';
import type { Funding } from '../account/funding.ts';
import type { Movements } from '../account/movements.ts';
import type { Restrictions } from '../account/restrictions.ts';
import type { Logger } from '../base/log.ts';
import type { ShardClient } from '../shardlink/client.ts';
import type { ChainLink } from '../shardlink/settlementLink.ts';
import type { Views } from '../shardlink/views.ts';
import type { ContractFloors } from './contractFloors.ts';

type FollowedMoney = ChainNews['money'];

type MoneyOptions = {
  readonly link: Pick<ChainLink, 'ask' | 'onNews'>;
  readonly accounts: Pick<Accounts, 'ownerOf' | 'escrowOf'>;
  readonly funding: Pick<Funding, 'follow'>;
  readonly movements: Pick<Movements, 'noteMark'>;
  readonly restrictions: Pick<Restrictions, 'setLeaving'>;
  readonly contractFloors: Pick<ContractFloors, 'ask'>;
  readonly engine: Pick<ShardClient, 'sweepAll' | 'unwind' | 'payClaim'>;
  readonly markets: Pick<Views['markets'], 'shard'>;
  readonly log: Logger;
};

const NO_ACCOUNT = 0;

/** Reasons why the ledger cannot follow, as administrators see them. */
const UNKNOWN_WALLET = 'unknown_wallet';
const NOT_THE_ESCROW = 'not_the_escrow_wallet';
const UNKNOWN_MARKET = 'unknown_market';
const TOO_LARGE = 'too_large';

export function followChain(options: MoneyOptions): void {
  const { link, accounts, restrictions } = options;
  link.onNews('money', (facts) => followMoney(facts, options));
  link.onNews('exit', async ({ wallet, isLeaving }) => {
    const account = accountOf(wallet, options);
    // A wallet without an account has nothing in the ledger that could be frozen.
    if (typeof account === 'number') await restrictions.setLeaving(account, isLeaving);
  });
  link.onNews('claimed', (facts) => payClaim(facts, options));
  link.onNews('walletMissing', async ({ account }) => {
    const wallet = accounts.escrowOf(account);
    if (wallet !== null) await link.ask('setEscrow', { account, wallet });
  });
}

/** Rejects while it is unknown whether the ledger has the movement: then it is reported again. */
async function followMoney(facts: FollowedMoney, options: MoneyOptions): Promise<void> {
  const { contractFloors, link, log, movements, restrictions } = options;
  const { event, kind, amount, market, wallet } = facts;
  const account = accountOf(wallet, options);
  const other = facts.taken === undefined ? account : accountOf(facts.taken.taker, options);
  const reason = [account, other].find((each) => typeof each === 'string') ?? whyNot(facts);
  if (typeof reason === 'string' || typeof account === 'string' || typeof other === 'string') {
    log.warn({ wallet, kind, amount, reason }, 'the ledger cannot follow a movement of the chain yet');
    await link.ask('moneyWaits', { event, reason: String(reason) });
    return;
  }
  await contractFloors.ask([wallet]);
  const { isLeaving, mark } = await link.ask('moneyAccepted', { event, account });
  movements.noteMark(mark);
  // GATEMONEY-3: the report of its exit may have come before the wallet was linked.
  if (isLeaving) await restrictions.setLeaving(account, true);
  if (kind === 'paid' || kind === 'taken') for (const each of new Set([account, other])) await cancelAll(each, options);
  const code =
    facts.taken === undefined
      ? await moveOf(facts, account, kind === 'sets' ? market : null, options)
      : await takeOver(facts, facts.taken, { maker: account, taker: other }, options);
  if (code !== null) await link.ask('moneyWaits', { event, reason: errorRow(code).code });
}

/** Null once the ledger has it; otherwise the number of the error that prevents it. */
async function moveOf(
  { kind, amount, reference, feeMicro = 0 }: FollowedMoney,
  account: number,
  market: number | null,
  { funding }: MoneyOptions,
): Promise<number | null> {
  const amountMicro = Number(amount);
  const movement = kind === 'exit' || kind === 'paid' ? MOVEMENT.WITHDRAWAL : MOVEMENT.DEPOSIT;
  const moved = { account, kind: movement, amountMicro, reference, feeMicro };
  const send = (of: number | null) => funding.follow({ ...moved, market: of });
  let result = await send(market);
  // RULES.md 17.20: a full set of a decided market is worth one USDC.
  const isDecided = result.movement === null && market !== null && result.code === E.MARKET_NOT_ACTIVE;
  if (isDecided) result = await send(null);
  if (result.movement !== null) return null;
  return decided(result.code);
}

/** Null once the ledger has it: the changes of both parties and of the fees are one command. */
async function takeOver(
  { reference }: FollowedMoney,
  { market, tradeSequence, changes }: TakenOver,
  { maker, taker }: { readonly maker: number; readonly taker: number },
  { engine, markets }: MoneyOptions,
): Promise<number | null> {
  const place = { shard: markets.shard(market), tradeSequence };
  const name = referenceHash(maker, FUND_MOVEMENT.UNWINDING, reference);
  const { code } = await engine.unwind(place, { market, maker, taker, changes }, name);
  return decided(code) === OK ? null : code;
}

/**
 * The wallet was paid on the chain, so its account is paid for the same tokens here. Any refusal of the ledger is
 * final: it has paid them before, or, restored to an earlier time, has not decided the market yet, and pays them when
 * it does.
 */
async function payClaim(
  { account, market }: ChainNews['claimed'],
  { engine, markets, log }: MoneyOptions,
): Promise<void> {
  const { code } = await engine.payClaim(markets.shard(market), account, market);
  if (decided(code) !== OK)
    log.info(
      { account, market, reason: errorRow(code).code },
      'the chain has paid a claim that the ledger does not pay now',
    );
}

/** GATEMONEY-4. No outbox: the news waits for it, and comes again if a shard has not answered. */
async function cancelAll(account: number, { engine }: MoneyOptions): Promise<void> {
  if ((await engine.sweepAll(account)) !== OK) throw new Error('a shard does not answer: it is asked again');
}

/** Throws if it is unknown whether the ledger has it. */
function decided(code: number): number {
  if (code === E.OUTCOME_UNKNOWN || code === E.ENGINE_BUSY) {
    throw new Error('the ledger does not answer: it is asked again');
  }
  return code;
}

/** Returns the account, or the reason if the wallet is no account's escrow (GATEMONEY-2). */
function accountOf(wallet: string, { accounts }: MoneyOptions): number | string {
  const account = accounts.ownerOf(wallet);
  if (account === NO_ACCOUNT) return UNKNOWN_WALLET;
  return accounts.escrowOf(account) === wallet ? account : NOT_THE_ESCROW;
}

function whyNot({ kind, amount, market }: FollowedMoney): string | null {
  if (BigInt(amount) > BigInt(MAX_SAFE)) return TOO_LARGE;
  return kind === 'sets' && market === null ? UNKNOWN_MARKET : null;
}
