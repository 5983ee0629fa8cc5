/** The parts of the exchange that the ledger rail uses (ledgerRail.ts). */
import type { Clock } from '../../shared/base/clock.ts';
import type { FundKind } from '../account/movements.ts';
import type { RailTransactions } from './railTransactionsStore.ts';

/** The part of the books that is used here. */
type RailBooks = {
  move(account: number, kind: FundKind, amountMicro: number, reference: string): Promise<Moved>;
  availableMicro(account: number): number;
};
type Moved = { readonly movement: object } | { readonly movement: null; readonly code: number };

export type LedgerRailOptions = {
  readonly rows: RailTransactions;
  readonly books: RailBooks;
  readonly accounts: {
    ownerOf(address: string): number;
    isLinked(address: string): boolean;
    /** False for an account that may not take money out. */
    mayWithdraw(account: number): boolean;
  };
  /** By another thread, in the turn of the account. Rejects while it cannot be said. */
  readonly isSigned: (account: number, address: string, digest: Uint8Array, signature: string) => Promise<boolean>;
  readonly contract: () => { readonly chainId: number; readonly exchange: string };
  /** Wallets of providers, in lower case. */
  readonly providerAddresses: ReadonlySet<string>;
  readonly blockMs: number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
};
