/** The parts of a wallet that the page uses, whichever kind it is. */
import type { OrderDraft } from '../../../shared/client/order.ts';
import type { FiatTransfer, PlacementBody } from '../../../shared/client/types.ts';
import type { Eip712Domain } from '../../../shared/crypto/eip712.ts';

export type Wallet = {
  readonly kind: 'extension' | 'demo';
  readonly address: string;
  signMessage(text: string): Promise<string>;
  signOrder(draft: OrderDraft, domain: Eip712Domain): Promise<PlacementBody>;
  /** Rejects unless there is something to sign, from this wallet. */
  signTransfer(transfer: FiatTransfer): Promise<string>;
};
