/** Names in the form of theirs for what the exchange names otherwise. */
import { keccak256 } from 'viem';

/** A trade of a ledger is in no transaction: its hash follows from the trade, and leads to nothing. */
export function transactionOf(tradeId: string): string {
  return keccak256(Buffer.from(tradeId));
}

/** An order that was not placed here has its id at the exchange in the form of a hash. */
export function hashOfOrderId(orderId: string): string {
  return `0x${orderId.replaceAll('-', '').padStart(64, '0')}`;
}
