/** The parts of a wallet that the page uses, for all kinds of wallets. */
import type { OrderDraft } from '../../../shared/client/order.ts';
import type { FiatTransfer, PlacementBody } from '../../../shared/client/types.ts';
import type { Eip712Domain } from '../../../shared/crypto/eip712.ts';

export type Wallet = {
  readonly kind: 'extension' | 'demo';
  /** The extension (extensions.ts), by which it is found again after a reload. */
  readonly id?: string;
  readonly address: string;
  signMessage(text: string): Promise<string>;
  signOrder(draft: OrderDraft, domain: Eip712Domain): Promise<PlacementBody>;
  /** Rejects if this wallet has nothing to sign. */
  signTransfer(transfer: FiatTransfer): Promise<string>;
};
