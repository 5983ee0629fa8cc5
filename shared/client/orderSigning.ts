/** The parts that all signers of orders share: salts, digests, and the typed data that wallets show. */
import { SIDE } from '../base/codes.ts';
import { UINT256_BYTES, uint256ToDecimal } from '../base/hex.ts';
import { SIGNED_FIELDS } from '../base/orderFields.ts';
import { type Eip712Domain, type OrderHasher, ZERO_ADDRESS } from '../crypto/eip712.ts';
import type { OrderDraft, SignedOrder, SigningOptions } from './order.ts';
import type { PlacementBody } from './types.ts';

/** Signs orders for one signing domain at a time. */
export type OrderSigning = {
  readonly address: string;
  sign(draft: OrderDraft, options?: SigningOptions): SignedOrder | Promise<SignedOrder>;
  /** Changes the domain of later signatures. @returns whether it differs from the one before. */
  useDomain(domain: Eip712Domain): boolean;
};

type Signers = { readonly salt: string; readonly maker: string; readonly signer: string };

/** In lower case, as a binary record has them in text: a repeat in the other form is of the same payload (8.21). */
export function partiesOf(address: string, { maker = address }: SigningOptions): Pick<Signers, 'maker' | 'signer'> {
  return { maker: maker.toLowerCase(), signer: address.toLowerCase() };
}

/** Two orders that are alike in everything else differ in this, so each is meant once. */
export function randomSalt(): string {
  return uint256ToDecimal(crypto.getRandomValues(new Uint8Array(UINT256_BYTES)));
}

/** The 32 bytes that are signed; in hex they are the order hash. */
export function digestOfDraft(hasher: OrderHasher, draft: OrderDraft, signers: Signers): Uint8Array {
  const body: Readonly<Record<string, unknown>> = { ...draft, ...signers };
  const signed: Record<string, unknown> = {};
  for (const { json, key, form, isOptional } of SIGNED_FIELDS) {
    const value = body[json] ?? (isOptional ? 0 : undefined);
    signed[key] = /^(amount|integerO)/.test(form) ? Number(value) : value;
  }
  return hasher.digestOf({ ...signed, side: SIDE[draft.side] });
}

export function isSameDomain(a: Eip712Domain, b: Eip712Domain): boolean {
  const isSameContract = a.verifyingContract.toLowerCase() === b.verifyingContract.toLowerCase();
  return isSameContract && a.chainId === b.chainId && a.name === b.name && a.version === b.version;
}

type TypedField = { readonly name: string; readonly type: string };
/** EIP-712 data as wallets take it (`eth_signTypedData_v4`, `signTypedData` of viem and ethers). */
export type TypedOrder = {
  readonly primaryType: 'Order';
  readonly domain: Eip712Domain;
  readonly types: Readonly<Record<'EIP712Domain' | 'Order', readonly TypedField[]>>;
  readonly message: Readonly<Record<string, string | number>>;
};

const DOMAIN_FIELDS: readonly TypedField[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

/** The order of RULES.md 5.1 as wallets show it. */
export function typedOrder(order: Omit<PlacementBody, 'signature'>, domain: Eip712Domain): TypedOrder {
  const message: Record<string, string | number> = {};
  const members: Readonly<Record<string, unknown>> = order;
  for (const { json, name } of SIGNED_FIELDS) message[name] = String(members[json] ?? 0);
  return {
    primaryType: 'Order',
    domain,
    types: { EIP712Domain: DOMAIN_FIELDS, Order: SIGNED_FIELDS.map(({ name, type }) => ({ name, type })) },
    message: { ...message, taker: ZERO_ADDRESS, side: SIDE[order.side] },
  };
}
