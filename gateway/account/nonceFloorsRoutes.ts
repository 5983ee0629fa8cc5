/**
 * The floor under the nonces of a wallet's orders, read and raised by the wallet's owner (RULES.md 5.12): orders with a
 * lower nonce, signed by the wallet or its delegates, are void from then on.
 */
import { ADDRESS } from '../../shared/api/fields.ts';
import { NONCE_FLOOR, NONCE_FLOOR_BODY, RAISED_NONCE_FLOOR } from '../../shared/api/wallets.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import { MAX_SAFE } from '../../shared/base/int.ts';
import { MOST_FLOOR_RAISE } from '../../shared/base/nonceFloor.ts';
import { shownAddress } from '../../shared/crypto/checksumAddress.ts';
import type { Refusal } from '../base/refusal.ts';
import { ok, refuse } from '../http/respond.ts';
import { type AccountCall, type CallOf, type Route, route } from '../http/route.ts';
import type { RouteSpec } from '../http/spec.ts';
import type { Accounts } from './accounts.ts';
import type { NonceFloors } from './nonceFloors.ts';
import type { Restrictions } from './restrictions.ts';

type NonceFloorDeps = {
  readonly accounts: Accounts;
  readonly nonceFloors: NonceFloors;
  readonly restrictions: Pick<Restrictions, 'raiseNonceFloor'>;
};

const OF_WALLET = {
  params: { address: ADDRESS },
  path: '/v1/wallets/:address/nonce-floor',
} as const;

const SHOW = {
  ...OF_WALLET,
  method: 'GET',
  access: 'authenticated',
  id: 'getNonceFloor',
  summary: 'The least nonce that an order of the wallet may be signed with.',
  answers: { 200: NONCE_FLOOR },
  errors: ['RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

const RAISE = {
  ...OF_WALLET,
  method: 'POST',
  access: 'manage:account',
  id: 'raiseNonceFloor',
  summary: 'Makes every order of the wallet worthless that is signed with a lower nonce, and cancels the open ones.',
  storing: true,
  body: NONCE_FLOOR_BODY,
  answers: { 200: RAISED_NONCE_FLOOR },
  errors: ['VALIDATION_ERROR', 'RESOURCE_NOT_FOUND'],
} as const satisfies RouteSpec;

export function nonceFloorRoutes(deps: NonceFloorDeps): Route[] {
  return [
    route(SHOW, (call) => {
      const wallet = walletEver(call, deps);
      if (wallet !== null) ok(call, shown(wallet, deps));
    }),
    route(RAISE, (call) => raise(call, deps)),
  ];
}

async function raise(call: CallOf<typeof RAISE>, deps: NonceFloorDeps): Promise<void> {
  const wallet = walletEver(call, deps);
  if (wallet === null) return;
  const floor = call.body.nonce_floor;
  const refusal = refusalOf(floor, deps.nonceFloors.of(wallet));
  if (refusal !== null) return refuse(call, refusal);
  const { cancelled, isComplete } = await deps.restrictions.raiseNonceFloor(wallet, floor);
  await deps.accounts.durable();
  ok(call, { ...shown(wallet, deps), orders_cancelled: cancelled, is_complete: isComplete });
}

/** The most that one request may raise it, so that a slip cannot use up all nonces. */
function refusalOf(floor: number, now: number): Refusal | null {
  const most = Math.min(now + MOST_FLOOR_RAISE, MAX_SAFE);
  if (floor <= most) return null;
  const details = { field: 'nonce_floor', rule: 'maximum', expected: `at most ${most}`, value: floor };
  return { row: ERRORS.VALIDATION_ERROR, message: 'nonce_floor is too far above the floor of now', details };
}

/** The wallet in the path, which is or was one of the account's; null if the call was refused. */
function walletEver(
  call: AccountCall & { readonly params: { readonly address: string } },
  { accounts }: NonceFloorDeps,
): string | null {
  const wallet = call.params.address.toLowerCase();
  if (accounts.ownerOf(wallet) === call.principal.accountIndex) return wallet;
  refuse(call, { row: ERRORS.RESOURCE_NOT_FOUND, message: 'the account has no such wallet' });
  return null;
}

function shown(wallet: string, { nonceFloors }: NonceFloorDeps): { address: string; nonce_floor: number } {
  return { address: shownAddress(wallet), nonce_floor: nonceFloors.of(wallet) };
}
