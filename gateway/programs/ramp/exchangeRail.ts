/**
 * Uses the exchange's ledger rail over HTTP. The provider is a customer like any other: it signs in with its wallet,
 * and its account holds its USDC.
 * Owner: the provider's thread.
 *
 * Invariant:
 *   EXCHANGERAIL-1  One sign-in is under way at a time, and a session that has ended is followed by another.
 */
import { ADDRESS_BYTES, HASH_BYTES, tryParseHex } from '../../../shared/base/hex.ts';
import { ApiError, sendRequest } from '../../../shared/client/http.ts';
import { addressOf, privateKeyBytes, signDigest } from '../../../shared/client/privateKey.ts';
import { prepareRequest, withQuery } from '../../../shared/client/request.ts';
import { type Session, signInWithWallet } from '../../../shared/client/session.ts';
import type { Eip712Domain } from '../../../shared/crypto/eip712.ts';
import { type TransferAuthorization, transferDigest } from '../../../shared/crypto/eip3009.ts';
import type { Arrival, OwnTransfer, OwnTransferState, RailMoment, RampRail } from './rail.ts';
import { isCount } from './switches.ts';

const PAGE = 100;
const TIMEOUT_MS = 5000;
const CONFLICT = 409;
const NOT_FOUND = 404;

type RailAnswer = {
  readonly domain: Eip712Domain;
  readonly block: number;
  readonly finalized_block: number;
  readonly finalized_sec: number;
};
type ArrivalAnswer = {
  readonly tx_hash: string;
  readonly from: string;
  readonly value: string;
  readonly block: number;
};

export class ExchangeRail implements RampRail {
  readonly address: string;
  readonly #baseUrl: string;
  readonly #privateKey: string;
  #session: Promise<Session> | null = null;

  /** @param privateKey key of the provider's wallet. */
  constructor(baseUrl: string, privateKey: string) {
    this.address = addressOf(privateKey).toLowerCase();
    this.#baseUrl = baseUrl;
    this.#privateKey = privateKey;
  }

  async balanceMicro(): Promise<number> {
    const { usdc } = await this.#ask<{ usdc: { available: string } }>('GET', '/v1/user/balances');
    return countOf(Number(usdc.available));
  }

  async moment(): Promise<RailMoment> {
    const { block, finalized_block, finalized_sec } = await this.#rail();
    return { block, finalizedBlock: finalized_block, finalizedSec: finalized_sec };
  }

  async sign(transfer: OwnTransfer): Promise<string> {
    const { domain } = await this.#rail();
    const digest = Buffer.from(transferDigest(domain, this.#whole(transfer)).slice(2), 'hex');
    return signDigest(digest, privateKeyBytes(this.#privateKey));
  }

  async send(transfer: OwnTransfer, signature: string): Promise<boolean> {
    const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = this.#whole(transfer);
    const body = {
      from,
      to,
      value: String(valueMicro),
      valid_after: validAfterSec,
      valid_before: validBeforeSec,
      nonce,
      signature,
    };
    try {
      await this.#ask('POST', '/v1/fiat/rail/transfers', body);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === CONFLICT) return false;
      throw error;
    }
  }

  async stateOf(nonce: string): Promise<OwnTransferState> {
    const path = `/v1/fiat/rail/authorizations/${this.address}/${nonce}`;
    const answer = await this.#ask<{ state: string; tx_hash: string | null; block: number | null }>('GET', path);
    if (answer.state === 'unused') return { state: 'unused' };
    if (answer.state !== 'used' && answer.state !== 'cancelled') throw new Error('the rail names no state');
    return { state: answer.state, txHash: hexOf(answer.tx_hash, HASH_BYTES), block: countOf(answer.block) };
  }

  async arrivals(cursor: string): Promise<{ readonly arrivals: readonly Arrival[]; readonly cursor: string }> {
    const path = withQuery('/v1/fiat/rail/transfers', { after: cursor, limit: PAGE });
    const answer = await this.#ask<{ transfers: readonly ArrivalAnswer[]; cursor: string }>('GET', path);
    const arrivals = answer.transfers.map(({ tx_hash, from, value, block }) => ({
      txHash: hexOf(tx_hash, HASH_BYTES),
      from: hexOf(from, ADDRESS_BYTES),
      valueMicro: countOf(Number(value)),
      block: countOf(block),
    }));
    return { arrivals, cursor: answer.cursor };
  }

  async #rail(): Promise<RailAnswer> {
    const answer = await this.#ask<RailAnswer>('GET', '/v1/fiat/rail');
    for (const count of [answer.block, answer.finalized_block, answer.finalized_sec]) countOf(count);
    return answer;
  }

  #whole(transfer: OwnTransfer): TransferAuthorization {
    return { ...transfer, from: this.address, validAfterSec: 0 };
  }

  /** EXCHANGERAIL-1 */
  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    this.#session ??= signInWithWallet({ baseUrl: this.#baseUrl, wallet: this.#privateKey, tokenDelivery: 'body' });
    const session = this.#session;
    try {
      const { origin, authorize } = await session.then((opened) => ({
        origin: opened.origins[0],
        authorize: opened.authorize.bind(opened),
      }));
      return (await authorize((headers) => {
        const request = prepareRequest(method, path, body, () => headers);
        return sendRequest<T>(origin, request, { timeoutMs: TIMEOUT_MS });
      })) as T;
    } catch (error) {
      const isAnswer = error instanceof ApiError && (error.status === CONFLICT || error.status === NOT_FOUND);
      if (!isAnswer && this.#session === session) this.#session = null;
      throw error;
    }
  }
}

function hexOf(value: unknown, bytes: number): string {
  const isHex = typeof value === 'string' && tryParseHex(value, bytes, new Uint8Array(bytes), 0);
  if (!isHex) throw new Error('the rail answers no hex of its length');
  return value.toLowerCase();
}

function countOf(value: unknown): number {
  if (!isCount(value, Number.MAX_SAFE_INTEGER)) throw new Error('the rail answers no count');
  return value;
}
