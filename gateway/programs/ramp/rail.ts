/** The rail as the sandbox provider sees it: USDC of its own wallet, and USDC that others send to it. */

/** A transfer that the provider signs with the key of its wallet (EIP-3009). */
export type OwnTransfer = {
  readonly to: string;
  readonly valueMicro: number;
  readonly validBeforeSec: number;
  readonly nonce: string;
};

export type RailMoment = {
  readonly block: number;
  readonly finalizedBlock: number;
  readonly finalizedSec: number;
};

export type Arrival = {
  readonly txHash: string;
  readonly from: string;
  readonly valueMicro: number;
  readonly block: number;
  /** Distinguishes several arrivals of one transaction. */
  readonly name?: string;
};

export type OwnTransferState =
  | { readonly state: 'unused' }
  | { readonly state: 'used' | 'cancelled'; readonly txHash: string; readonly block: number };

/** Every method rejects if the rail does not answer; whether it has done something is then unknown. */
export type RampRail = {
  /** Address of the provider's wallet, in lower case. */
  readonly address: string;
  balanceMicro(): Promise<number>;
  moment(): Promise<RailMoment>;
  sign(transfer: OwnTransfer): Promise<string>;
  /** May be repeated: the rail carries out a transfer once. @returns false if it is refused now. */
  send(transfer: OwnTransfer, signature: string): Promise<boolean>;
  stateOf(nonce: string): Promise<OwnTransferState>;
  /** The USDC that has arrived after the cursor, oldest first; '' is the start. */
  arrivals(cursor: string): Promise<{ readonly arrivals: readonly Arrival[]; readonly cursor: string }>;
};
