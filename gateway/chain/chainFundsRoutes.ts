/** Routes by which an account deposits and withdraws its own funds on a chain (RULES.md 17.25 and 17.26). */

import { randomBytes, randomUUID } from 'node:crypto';
import { FUND_MOVEMENT } from '../../shared/api/accounts.ts';
import {
  DEPOSIT_AUTHORIZATION,
  type DepositAuthorization,
  NEW_DEPOSIT,
  NEW_WITHDRAWAL,
} from '../../shared/api/chainFunds.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { E, ERRORS, errorRow } from '../../shared/base/errors.ts';
import { toHex } from '../../shared/base/hex.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import { referenceHash } from '../../shared/crypto/referenceHash.ts';
import type { DepositAsk, DepositPermit } from '../../shared/wire/chainQuestions.ts';
import type { AccountStates } from '../account/accountStates.ts';
import type { Accounts } from '../account/accounts.ts';
import type { Funding } from '../account/funding.ts';
import { namingFee } from '../account/movementFeeJson.ts';
import { movementOf } from '../account/movementJson.ts';
import type { Movements } from '../account/movements.ts';
import type { Refusal } from '../base/refusal.ts';
import { ok, refuse } from '../http/respond.ts';
import { type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Contracts } from '../markets/contracts.ts';
import type { AccountViews } from '../shardlink/accountViews.ts';
import { ChainDown, ChainRefused } from '../shardlink/settlementLink.ts';
import type { SettlementPort } from '../shardlink/settlementPort.ts';

type ChainFundDeps = {
  readonly settlement: Pick<SettlementPort, 'ask' | 'holdsFunds' | 'bounds'>;
  readonly accounts: Pick<Accounts, 'escrowOf'>;
  readonly accountStates: Pick<AccountStates, 'reducingRefusal'>;
  readonly contracts: { readonly current: Pick<Contracts, 'exchange' | 'chainId'> };
  readonly movements: Pick<Movements, 'hasRoomFor' | 'noteMark'>;
  readonly funding: Pick<Funding, 'move' | 'isKnown'>;
  readonly views: { readonly accounts: Pick<AccountViews, 'availableMicro'> };
  readonly clock: Clock;
};

const PERMIT_SECONDS = 1800;
/**
 * The most waiting payments of one account: later ones wait for earlier ones, so a wallet that cannot be paid does not
 * fill the queue.
 */
const MOST_WAITING_PAYMENTS = 16;
/** The longest wait for the count, for which the node is not asked. */
const COUNTED_WITHIN_MS = 2000;

const AUTHORIZE = {
  method: 'POST',
  path: '/v1/user/deposit-authorizations',
  id: 'authorizeDeposit',
  summary: 'A permit for a deposit from the wallet of the account, and what the wallet signs for it.',
  access: 'manage:account',
  body: NEW_DEPOSIT,
  answers: { 201: DEPOSIT_AUTHORIZATION },
  errors: ['VALIDATION_ERROR', 'CONFLICT', 'ACCOUNT_FROZEN', 'FUNDING_UNAVAILABLE'],
} as const satisfies RouteSpec;

const WITHDRAW = {
  method: 'POST',
  path: '/v1/user/withdrawals',
  id: 'withdraw',
  summary: 'Pays available USDC out of the escrow, to the wallet of the account or into its unheld part.',
  access: 'manage:account',
  body: NEW_WITHDRAWAL,
  answers: { 201: FUND_MOVEMENT },
  errors: [
    'VALIDATION_ERROR',
    'CONFLICT',
    'ACCOUNT_FROZEN',
    'INSUFFICIENT_BALANCE',
    'RATE_LIMITED',
    'SETTLEMENT_UNHEALTHY',
    'FUNDING_UNAVAILABLE',
    'OUTCOME_UNKNOWN',
  ],
} as const satisfies RouteSpec;

export function chainFundRoutes(deps: ChainFundDeps): Route[] {
  return [route(AUTHORIZE, (call) => authorize(call, deps)), route(WITHDRAW, (call) => withdraw(call, deps))];
}

async function authorize(call: CallOf<typeof AUTHORIZE>, deps: ChainFundDeps): Promise<void> {
  const { settlement, accounts, accountStates, contracts, movements, clock } = deps;
  const account = call.principal.accountIndex;
  const frozen = accountStates.reducingRefusal(account);
  const wallet = accounts.escrowOf(account);
  const { amount_usdc_micro: amountMicro } = call.body;
  if (!settlement.holdsFunds)
    refuse(call, { row: ERRORS.FUNDING_UNAVAILABLE, message: 'there is no chain to deposit on' });
  else if (frozen !== null) refuse(call, { row: frozen });
  else if (wallet === null) refuse(call, { row: ERRORS.CONFLICT, message: 'the account has no wallet' });
  else if (!movements.hasRoomFor(Number(amountMicro)))
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: TOO_MUCH });
  else {
    const { exchange, chainId } = contracts.current;
    const deadlineSec = Math.floor(clock.nowMs() / 1000) + PERMIT_SECONDS;
    const nonce = toHex(randomBytes(32));
    const ask: DepositAsk = { exchange, wallet, amountMicro, nonce, deadlineSec };
    try {
      ok(call, authorizationOf(ask, chainId, await settlement.ask('depositPermit', ask)), 201);
    } catch (error) {
      if (error instanceof ChainDown) refuse(call, { row: ERRORS.FUNDING_UNAVAILABLE });
      else if (error instanceof ChainRefused) refuse(call, { row: ERRORS.CONFLICT, message: messageOf(error.error) });
      else throw error;
    }
  }
}

const TOO_MUCH = 'total deposits would pass 2^53-1 micro-USDC';

/** The message with which the contract would refuse it now. */
function messageOf(error: string): string {
  if (error === 'ExitPending') return 'the wallet is leaving the exchange';
  return error === 'EnforcedPause' ? 'the contract is paused' : `the contract would refuse: ${error}`;
}

function authorizationOf(ask: DepositAsk, chainId: number, permit: DepositPermit): DepositAuthorization {
  const { amountMicro, nonce, deadlineSec } = ask;
  const [exchange, wallet] = [shownAddress(ask.exchange), shownAddress(ask.wallet)];
  const { digest, signature, token, data } = permit;
  return {
    permit: { account: wallet, amount: amountMicro, nonce, deadline: deadlineSec },
    permit_signature: signature,
    typed_data: {
      domain: { ...token, verifyingContract: shownAddress(token.verifyingContract) },
      types: { ReceiveWithAuthorization: AUTHORIZATION_FIELDS },
      primaryType: 'ReceiveWithAuthorization',
      message: {
        from: wallet,
        to: exchange,
        value: amountMicro,
        validAfter: '0',
        validBefore: String(deadlineSec),
        nonce: digest,
      },
    },
    transaction: {
      to: exchange,
      chain_id: chainId,
      data_before_signature: data.before,
      data_after_signature: data.after,
    },
  };
}

const AUTHORIZATION_FIELDS = [
  ...['from', 'to'].map((name) => ({ name, type: 'address' })),
  ...['value', 'validAfter', 'validBefore'].map((name) => ({ name, type: 'uint256' })),
  { name: 'nonce', type: 'bytes32' },
];

async function withdraw(call: CallOf<typeof WITHDRAW>, deps: ChainFundDeps): Promise<void> {
  const { settlement, funding, movements } = deps;
  const { bounds } = settlement;
  if (!settlement.holdsFunds)
    return refuse(call, { row: ERRORS.CONFLICT, message: 'withdrawals are made by an administrator' });
  const account = call.principal.accountIndex;
  const { amount_usdc_micro, to = 'wallet', reference = randomUUID() } = call.body;
  const amountMicro = Number(amount_usdc_micro);
  if (!Number.isSafeInteger(amountMicro)) {
    const details = { field: 'amount_usdc_micro', rule: 'maximum', value: amount_usdc_micro };
    refuse(call, { row: ERRORS.VALIDATION_ERROR, message: 'invalid amount_usdc_micro', details });
    return;
  }
  const isRepeat = funding.isKnown(account, MOVEMENT.WITHDRAWAL, reference);
  const bound = isRepeat ? null : await boundOf(account, amountMicro, deps);
  if (bound !== null) return refuse(call, bound);
  try {
    // Settlement has to know the destination before the ledger has the movement.
    const hash = toHex(referenceHash(account, MOVEMENT.WITHDRAWAL, reference));
    if (to === 'unheld') movements.noteMark((await settlement.ask('prepareRelease', { reference: hash })).mark);
  } catch (error) {
    if (!(error instanceof ChainDown)) throw error;
    if (!isRepeat) bounds.giveBack(account, amountMicro);
    refuse(call, { row: ERRORS.FUNDING_UNAVAILABLE, message: 'settlement does not answer' });
    return;
  }
  const feeMicro = bounds.feeMicro ?? 0;
  const result = await funding.move(account, MOVEMENT.WITHDRAWAL, amountMicro, reference, feeMicro);
  if (result.movement !== null) return ok(call, movementOf(result.movement, true), 201);
  if (!isRepeat && result.code !== E.OUTCOME_UNKNOWN) bounds.giveBack(account, amountMicro);
  const { message, details } = namingFee(result, feeMicro);
  refuse(call, { row: errorRow(result.code), message, details });
}

/**
 * Returns why the account may not get this payment now (RULES.md 17.46); null if it may, and then counts the payment.
 */
async function boundOf(
  account: number,
  amountMicro: number,
  { settlement, views }: ChainFundDeps,
): Promise<Refusal | null> {
  const { bounds } = settlement;
  try {
    const { count } = await settlement.ask('waitingPayments', { account }, COUNTED_WITHIN_MS);
    if (count >= MOST_WAITING_PAYMENTS) return { row: ERRORS.CONFLICT, message: TOO_MANY_WAIT };
  } catch (error) {
    // Withdrawals go on while settlement does not (RULES.md 17.4): the day's count limits them.
    if (!(error instanceof ChainDown)) throw error;
  }
  const wholeMicro = views.accounts.availableMicro(account) - (bounds.feeMicro ?? 0);
  return bounds.take(account, 'amount_usdc_micro', amountMicro, wholeMicro);
}

const TOO_MANY_WAIT = `${MOST_WAITING_PAYMENTS} payments of the account wait for the chain`;
