/**
 * Routes of the ledger rail for parties that send on it themselves, such as a provider (RULES.md 16.40 to 16.44). With
 * a chain they send on the chain, without the exchange.
 */

import {
  NEW_RAIL_CANCELLATION,
  NEW_RAIL_TRANSFER,
  RAIL,
  RAIL_ARRIVALS,
  RAIL_ARRIVALS_QUERY,
  RAIL_AUTHORIZATION_STATE,
  RAIL_SENT,
} from '../../shared/api/fiat.ts';
import { ADDRESS, HASH } from '../../shared/api/fields.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { CONFIRMATIONS } from '../../shared/chain/depth.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { Accounts } from '../account/accounts.ts';
import { clientSubject } from '../base/clientAddress.ts';
import type { Config } from '../base/config.ts';
import type { BadSignatures } from '../http/badSignatures.ts';
import { applyLimit, type HandlerLimits } from '../http/counting.ts';
import { ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import { shownDomain } from './fiatJson.ts';
import type { LedgerRail, SendFault } from './ledgerRail.ts';
import { CHAIN_DOWN, type Rail, RailDown } from './rail.ts';
import { ENDLESS } from './railTransactionsStore.ts';

type RailDeps = {
  readonly rail: Rail;
  /** Null with a chain. */
  readonly ledgerRail: LedgerRail | null;
  readonly accounts: Pick<Accounts, 'byIndex'>;
  readonly config: Pick<Config, 'trustProxy'>;
  readonly clock: Clock;
  /** Null: nothing is counted. */
  readonly limiter: HandlerLimits;
  readonly badSignatures: Pick<BadSignatures, 'refusalFor' | 'count'> | null;
};

/**
 * Each costs the exchange a verification and a row, and its sender nothing: they are counted across keys and sessions.
 */
const CANCELLATIONS = { method: 'POST', path: 'rail cancellations', limit: 'railCancel' } as const;
const CANCELLATIONS_OF_ADDRESS = { ...CANCELLATIONS, limit: 'railCancelOfAddress' } as const;

const SENT = 202;
const READ = { method: 'GET', access: 'authenticated', limit: 'railRead' } as const;
const SEND = {
  method: 'POST',
  access: 'authenticated',
  limit: 'railSend',
  storing: true,
  answers: { 202: RAIL_SENT },
  errors: ['FORBIDDEN', 'VALIDATION_ERROR', 'CONFLICT', 'FIAT_UNAVAILABLE'],
} as const;

const SHOW = {
  ...READ,
  path: '/v1/fiat/rail',
  id: 'getFiatRail',
  summary: 'What transfers are signed for, and the blocks of the rail.',
  answers: { 200: RAIL },
  errors: ['FIAT_UNAVAILABLE'],
} as const satisfies RouteSpec;

const ARRIVALS = {
  ...READ,
  path: '/v1/fiat/rail/transfers',
  id: 'listRailArrivals',
  summary: 'Transfers that have arrived in wallets of the account, oldest first.',
  query: RAIL_ARRIVALS_QUERY,
  answers: { 200: RAIL_ARRIVALS },
  errors: ['CONFLICT'],
} as const satisfies RouteSpec;

const SHOW_AUTHORIZATION = {
  ...READ,
  path: '/v1/fiat/rail/authorizations/:from/:nonce',
  id: 'getRailAuthorization',
  summary: 'If the nonce of a wallet of the account is used or cancelled.',
  params: { from: ADDRESS, nonce: HASH },
  answers: { 200: RAIL_AUTHORIZATION_STATE },
  errors: ['FORBIDDEN', 'CONFLICT'],
} as const satisfies RouteSpec;

const TRANSFER = {
  ...SEND,
  path: '/v1/fiat/rail/transfers',
  id: 'transferOnRail',
  summary: 'Sends a transfer that a wallet of the account has signed; a repeat is the same transfer.',
  body: NEW_RAIL_TRANSFER,
} as const satisfies RouteSpec;

const CANCEL = {
  ...SEND,
  path: '/v1/fiat/rail/cancellations',
  id: 'cancelRailAuthorization',
  summary: 'Makes a nonce useless that no transfer has used, signed by its wallet.',
  body: NEW_RAIL_CANCELLATION,
} as const satisfies RouteSpec;

export function railRoutes(deps: RailDeps): Route[] {
  return [
    route(SHOW, (call) => show(call, deps)),
    route(ARRIVALS, (call) => arrivals(call, deps)),
    route(SHOW_AUTHORIZATION, (call) => authorization(call, deps)),
    route(TRANSFER, (call) => transfer(call, deps)),
    route(CANCEL, (call) => cancel(call, deps)),
  ];
}

const ON_CHAIN = { row: ERRORS.CONFLICT, message: 'USDC is on a chain here: transfers are sent to the token itself' };

async function show(call: CallOf<typeof SHOW>, { rail, ledgerRail }: RailDeps): Promise<void> {
  try {
    const { block, finalizedBlock, finalizedSec } = await rail.head();
    ok(call, {
      rail: rail.name,
      domain: shownDomain(await rail.domain()),
      provider_addresses: [...(ledgerRail?.providerAddresses ?? [])].map(shownAddress),
      block,
      finalized_block: finalizedBlock,
      finalized_sec: finalizedSec,
      required_confirmations: CONFIRMATIONS,
    });
  } catch (error) {
    if (!(error instanceof RailDown)) throw error;
    refuse(call, CHAIN_DOWN);
  }
}

function arrivals(call: CallOf<typeof ARRIVALS>, { ledgerRail }: RailDeps): void {
  if (ledgerRail === null) return refuse(call, ON_CHAIN);
  const { after, limit } = call.query;
  const found = ledgerRail.arrivals(call.principal.accountIndex, after, limit);
  const transfers = found.arrivals.map(({ txHash, from, to, valueMicro, nonce, block }) => {
    const [shownFrom, shownTo] = [shownAddress(from), shownAddress(to)];
    return { tx_hash: txHash, from: shownFrom, to: shownTo, value: String(valueMicro), nonce, block };
  });
  ok(call, { transfers, cursor: found.cursor });
}

async function authorization(call: CallOf<typeof SHOW_AUTHORIZATION>, deps: RailDeps): Promise<void> {
  const { from, nonce } = call.params;
  const ledgerRail = ownRail(call, from, deps);
  if (ledgerRail === null) return;
  const found = await ledgerRail.authorization(from.toLowerCase(), nonce.toLowerCase());
  const { tx_hash, block } = found.state === 'unused' ? NOT_THERE : { tx_hash: found.txHash, block: found.block };
  ok(call, { state: found.state, tx_hash, block });
}

const NOT_THERE = { tx_hash: null, block: null };

async function transfer(call: CallOf<typeof TRANSFER>, deps: RailDeps): Promise<void> {
  const { from, to, value, valid_after, valid_before, nonce, signature } = call.body;
  const ledgerRail = ownRail(call, from, deps);
  if (ledgerRail === null) return;
  const valueMicro = Number(value);
  if (!Number.isSafeInteger(valueMicro) || valueMicro === 0)
    return refuse(call, {
      row: ERRORS.VALIDATION_ERROR,
      message: 'invalid value',
      details: { field: 'value', rule: 'range' },
    });
  const fields = { valueMicro, validAfterSec: valid_after, validBeforeSec: valid_before, nonce: nonce.toLowerCase() };
  const addresses = { from: from.toLowerCase(), to: to.toLowerCase() };
  await send(call, deps, () => ledgerRail.send('transfer', { ...addresses, ...fields }, signature.toLowerCase()));
}

async function cancel(call: CallOf<typeof CANCEL>, deps: RailDeps): Promise<void> {
  const { authorizer, nonce, signature, valid_before: validBeforeSec = ENDLESS } = call.body;
  const ledgerRail = ownRail(call, authorizer, deps);
  if (ledgerRail === null) return;
  const from = authorizer.toLowerCase();
  if (!(await admits(call, deps))) return;
  const fields = { from, to: from, valueMicro: 0, validAfterSec: 0, validBeforeSec, nonce: nonce.toLowerCase() };
  await send(call, deps, () => ledgerRail.send('cancel', fields, signature.toLowerCase()));
}

/** Counted by account and by address, beside the limit of the route. */
async function admits(call: AccountCall, { limiter, config, clock }: RailDeps): Promise<boolean> {
  if (limiter === null) return true;
  const nowMs = (): number => clock.nowMs();
  const address = clientSubject(call.transport.peer(), call.transport.forwardedFor, config.trustProxy);
  const { accountIndex } = call.principal;
  const isBelow = await applyLimit(call, limiter.countAccount(accountIndex, CANCELLATIONS, call.startedMs), nowMs);
  if (!isBelow) return false;
  return applyLimit(call, limiter.countAddress(address, CANCELLATIONS_OF_ADDRESS, call.startedMs), nowMs);
}

type Sent = { readonly txHash: string } | { readonly fault: SendFault };

/** Wrong signatures are throttled like those of orders, and together with them (RULES.md 5.8). */
async function send(
  call: CallOf<typeof TRANSFER> | CallOf<typeof CANCEL>,
  { badSignatures }: RailDeps,
  carryOut: () => Promise<Sent>,
): Promise<void> {
  const account = call.principal.accountIndex;
  const limited = badSignatures?.refusalFor(account) ?? null;
  if (limited !== null) return refuse(call, limited);
  try {
    const sent = await carryOut();
    if ('fault' in sent && sent.fault === 'signature') badSignatures?.count(account);
    answerSent(call, sent);
  } catch (error) {
    if (!(error instanceof RailDown)) throw error;
    refuse(call, { row: ERRORS.FIAT_UNAVAILABLE });
  }
}

function answerSent(call: CallOf<typeof TRANSFER> | CallOf<typeof CANCEL>, sent: Sent): void {
  if ('txHash' in sent) ok(call, { tx_hash: sent.txHash }, SENT);
  else refuse(call, { row: ERRORS.CONFLICT, message: 'the rail refuses it', details: { reason: sent.fault } });
}

/** The ledger rail, for a wallet of the account; null when the call is answered: there is none, or it is another's. */
function ownRail(call: AccountCall, address: string, { ledgerRail, accounts }: RailDeps): LedgerRail | null {
  const isOwn = accounts.byIndex(call.principal.accountIndex).wallets.includes(address.toLowerCase());
  if (ledgerRail === null) refuse(call, ON_CHAIN);
  else if (!isOwn) refuse(call, { row: ERRORS.FORBIDDEN, message: 'it is not a wallet of this account' });
  return isOwn ? ledgerRail : null;
}
