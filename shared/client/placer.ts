/**
 * Turns what is to be traded into a signed order: reads the market's grid, its fee, the signing domain and the floor of
 * the maker's nonces once and keeps them, and signs anew what is refused because one of them has changed since.
 */
import { memberOf } from '../base/memberOf.ts';
import type { Eip712Domain } from '../crypto/eip712.ts';
import type { TypedDataAccount } from './accountSigner.ts';
import { ApiError } from './http.ts';
import {
  draftOrder,
  type ExactIntent,
  type OrderDraft,
  type OrderIntent,
  type OrderMarket,
  type SignedOrder,
  type SigningOptions,
} from './order.ts';
import type { OrderSigning } from './orderSigning.ts';
import type { FeeRate, NonceFloor } from './types.ts';

/** A private key, an account of viem or another one that signs typed data, or a signer that is made already. */
export type OrderWallet = string | TypedDataAccount | OrderSigning;

type OfMarket<I> = Omit<I, 'market' | 'feeRateBps'> & {
  readonly marketId: string;
  /** The fee that the order agrees to; without it that of the market, also when it has changed a moment ago. */
  readonly feeRateBps?: number;
};
/** An order in terms of its market: `price` and `size` as decimal texts, or `priceTicks` and `quantityLots`. */
export type PlaceIntent = OfMarket<OrderIntent> | OfMarket<ExactIntent>;

/** The reads that signing needs. */
type Reads = {
  orderMarket(marketId: string): Promise<OrderMarket>;
  feeRate(marketId: string): Promise<FeeRate>;
  signingDomain(): Promise<Eip712Domain>;
  refreshConfig(): Promise<unknown>;
  readonly wallets: { nonceFloor(address: string): Promise<NonceFloor> };
};

/** The grid of a market never changes, its fee may. */
type KeptMarket = { readonly market: OrderMarket; feeRateBps: number };

/** All clients that were made of one share it. */
export class Placer {
  readonly #wallet: OrderWallet | undefined;
  readonly #markets = new Map<string, Promise<KeptMarket>>();
  /** By maker, in lower case. */
  readonly #floors = new Map<string, Promise<number>>();
  #signer: Promise<OrderSigning> | undefined;

  constructor(wallet: OrderWallet | undefined) {
    this.#wallet = wallet;
  }

  async sign(reads: Reads, intent: PlaceIntent, options?: SigningOptions): Promise<SignedOrder> {
    const [signer, draft] = await Promise.all([this.#signerOf(reads), this.#draft(reads, intent)]);
    const nonce = intent.nonce ?? (await this.#floor(reads, options?.maker ?? signer.address));
    return signer.sign({ ...draft, nonce }, options);
  }

  /** Signs and calls `send`; once more if the fee or the contracts have changed since they were read. */
  async place<T>(
    reads: Reads,
    intent: PlaceIntent,
    options: SigningOptions,
    send: (order: SignedOrder) => Promise<T>,
  ): Promise<T> {
    const order = await this.sign(reads, intent, options);
    try {
      return await send(order);
    } catch (error) {
      if (!(await this.#isRefreshed(reads, intent, options, error))) throw error;
      return send(await this.sign(reads, intent, options));
    }
  }

  async #draft(reads: Reads, { marketId, ...terms }: PlaceIntent): Promise<OrderDraft> {
    const { market, feeRateBps } = await this.market(reads, marketId);
    return draftOrder({ feeRateBps, ...withoutUndefined(terms), market });
  }

  async #isRefreshed(
    reads: Reads,
    { marketId, feeRateBps, nonce }: PlaceIntent,
    { maker }: SigningOptions,
    error: unknown,
  ): Promise<boolean> {
    if (!(error instanceof ApiError)) return false;
    if (error.code === 'FEE_RATE_MISMATCH' && feeRateBps === undefined) {
      const kept = await this.market(reads, marketId);
      const before = kept.feeRateBps;
      kept.feeRateBps = (await reads.feeRate(marketId)).maker_fee_bps;
      return kept.feeRateBps !== before;
    }
    if (error.code === 'NONCE_BELOW_FLOOR' && nonce === undefined) {
      const floor = memberOf(error.details, 'nonce_floor');
      if (typeof floor !== 'number') return false;
      const of = (maker ?? (await this.#signerOf(reads)).address).toLowerCase();
      this.#floors.set(of, Promise.resolve(floor));
      return true;
    }
    if (error.code !== 'INVALID_SIGNATURE') return false;
    await reads.refreshConfig();
    return (await this.#signerOf(reads)).useDomain(await reads.signingDomain());
  }

  /** The grid and the fee of a market, as orders are signed with them. */
  market(reads: Reads, marketId: string): Promise<KeptMarket> {
    return kept(this.#markets, marketId.toLowerCase(), async () => {
      const [market, fee] = await Promise.all([reads.orderMarket(marketId), reads.feeRate(marketId)]);
      return { market, feeRateBps: fee.maker_fee_bps };
    });
  }

  /** 0 for a client that may not ask, and for a wallet of another account: the exchange says what is wrong with it. */
  #floor(reads: Reads, maker: string): Promise<number> {
    return kept(this.#floors, maker.toLowerCase(), async () => {
      try {
        return (await reads.wallets.nonceFloor(maker)).nonce_floor;
      } catch (error) {
        if (error instanceof ApiError && (error.status === 401 || error.status === 404)) return 0;
        throw error;
      }
    });
  }

  #signerOf(reads: Reads): Promise<OrderSigning> {
    if (this.#signer === undefined) {
      const signer = signerOf(this.#wallet, reads);
      this.#signer = signer;
      signer.catch(() => {
        this.#signer = undefined;
      });
    }
    return this.#signer;
  }
}

/** The code of a kind of wallet is loaded for those who have one. */
async function signerOf(wallet: OrderWallet | undefined, reads: Reads): Promise<OrderSigning> {
  if (wallet === undefined) throw new Error('orders are signed by a wallet: the client has no `wallet`');
  if (typeof wallet === 'string') {
    const [{ OrderSigner }, domain] = await Promise.all([import('./orderSigner.ts'), reads.signingDomain()]);
    return new OrderSigner(wallet, domain);
  }
  if ('useDomain' in wallet) return wallet;
  const [{ AccountSigner }, domain] = await Promise.all([import('./accountSigner.ts'), reads.signingDomain()]);
  return new AccountSigner(wallet, domain);
}

/** A failure is not kept: the next caller asks again. */
function kept<T>(map: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const before = map.get(key);
  if (before !== undefined) return before;
  const made = make();
  map.set(key, made);
  made.catch(() => map.delete(key));
  return made;
}

/** A member that is there but undefined would replace the one that it stands for. */
function withoutUndefined<T extends object>(terms: T): T {
  return Object.fromEntries(Object.entries(terms).filter(([, value]) => value !== undefined)) as T;
}
