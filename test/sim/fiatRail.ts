/** The rail of a fiat world, of either kind: where the USDC of two customers, the provider and the others is. */

import type { ControlDatabase } from '../../gateway/base/database.ts';
import type { Rail } from '../../gateway/fiat/rail.ts';
import type { OwnTransferState, RailMoment, RampRail } from '../../gateway/programs/ramp/rail.ts';
import { addressOf } from '../../shared/client/privateKey.ts';
import type { Eip712Domain } from '../../shared/crypto/eip712.ts';
import type { TransferAuthorization } from '../../shared/crypto/eip3009.ts';
import type { ManualClock } from '../support/manualClock.ts';
import type { Random } from '../support/random.ts';
import type { Gates, Life } from './fiatGates.ts';

/** Two customers and the provider. */
export const KEYS = ['c1', 'c2', 'd3'].map((byte) => `0x${byte.repeat(32)}`);
export const WALLETS = KEYS.map((key) => addressOf(key).toLowerCase());
export const PROVIDER = WALLETS[2];
export const CUSTOMERS = [0, 1];
export const START_MICRO = 1_000_000_000;

/** A transfer that has moved money for good. */
export type MovedRow = {
  readonly tx_hash: string;
  readonly from: string;
  readonly to: string;
  readonly value: number;
  readonly nonce: string;
  readonly block: number;
};

/** A process of the exchange that has just started. */
export type Process = {
  readonly life: Life;
  readonly database: ControlDatabase;
  readonly changes: {
    readonly isDurable: boolean;
    write(change: () => void): void;
    durable(): Promise<void>;
  };
};

export type WorldOptions = { readonly clock: ManualClock; readonly gates: Gates; readonly random: Random };

export type WorldRail = {
  /** The rail as that process has it. */
  open(process: Process): Rail;
  /** Some time has passed. */
  tick(): void;
  domain(): Promise<Eip712Domain>;
  /** The process that a call of the provider or a customer goes to: the exchange's, or a node that never ends. */
  readonly node: () => Life;
  /** Sends without the relayer, as anyone can. @returns false if it is refused now. */
  send(kind: 'transfer' | 'cancel', transfer: TransferAuthorization, signature: string): Promise<boolean>;
  moment(): Promise<RailMoment>;
  authorization(from: string, nonce: string): Promise<OwnTransferState>;
  /** To the provider's wallet. */
  arrivals(cursor: string): ReturnType<RampRail['arrivals']>;
  balanceMicro(wallet: string): number;
  /** A customer spends nearly all elsewhere, or brings it back. */
  spend(customer: number): void;
  /** Hashes of existing transactions; null while they cannot be known. */
  hashes(): readonly string[] | null;
  /** Something goes wrong on the rail itself. @returns what, for the story. */
  misbehave(): string | null;
  /** From now on nothing does. */
  heal(): void;
  /** True while transfers are under way. */
  readonly isBusy: boolean;
  /** The transfers that have moved money, in the order of the rail. */
  moved(): readonly MovedRow[];
  /** True if the transaction was final at that time (RULES.md 16.20). */
  wasFinal(txHash: string, atMs: number): boolean;
  /** True if the deposit of the session counts: the books have it, where the rail has any. */
  isCredited(txHash: string, session: string): boolean;
  /** No USDC was made or lost: it is with its owners, or was spent by them. */
  assertMoney(): void;
  /** For a rail in another process: resolves once work begun there has ended. */
  settled?(): Promise<void>;
};

/** The sum that a wallet has received, minus what it has sent. */
export function change(moved: readonly MovedRow[], wallet: string): number {
  const sum = (rows: readonly MovedRow[]) => rows.reduce((total, { value }) => total + value, 0);
  return sum(moved.filter(({ to }) => to === wallet)) - sum(moved.filter(({ from }) => from === wallet));
}
