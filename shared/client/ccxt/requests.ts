/**
 * Requests: their addresses, the HMAC of a key, the EIP-712 signature of an order, and errors as CCXT has them. Amounts
 * are decimal texts, computed with CCXT's Precise: none is ever a number on the way to a signature.
 */
import { Routes } from './abstract.ts';
import { DESCRIPTION } from './describe.ts';
import {
  ArgumentsRequired,
  type Dict,
  ExchangeError,
  ecdsa,
  type Int,
  InvalidOrder,
  keccak,
  Precise,
  type Str,
  secp256k1,
  sha256,
  type Unified,
} from './upstream.ts';

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';
const UNITS = '1000000';
const uint = (name: string): Dict => ({ name, type: 'uint256' });
const address = (name: string): Dict => ({ name, type: 'address' });
/** In the order in which they are signed. */
const ORDER = [
  ...[uint('salt'), address('maker'), address('signer'), address('taker'), uint('tokenId')],
  ...[uint('makerAmount'), uint('takerAmount'), uint('expiration'), uint('nonce'), uint('feeRateBps')],
  ...[uint('minTakerNet'), { name: 'side', type: 'uint8' }],
];

export abstract class Requests extends Routes {
  describe(): Dict {
    return this.deepExtend(super.describe(), DESCRIPTION);
  }

  sign(path: string, api: Dict | string = 'public', method = 'GET', params: Dict = {}): Dict {
    const query = this.omit(params, this.extractParams(path));
    let target = `/${this.version}/${this.implodeParams(path, params)}`;
    let body: Str;
    if (method === 'GET') {
      const text = this.urlencode(query);
      if (text !== '') target = `${target}?${text}`;
    } else if (Object.keys(query).length > 0) {
      body = this.json(query);
    }
    const sent = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers = api === 'private' ? this.extend(sent, this.keyHeaders(method, target, body ?? '')) : sent;
    return { url: this.restUrl() + target, method, body, headers };
  }

  restUrl(): string {
    const urls: Unified = this.urls['api'];
    return this.safeString(urls, 'rest', '').replace(/\/+$/, '');
  }

  /** Signing version 2: a fresh nonce makes each of them good for one request. */
  keyHeaders(method: string, target: string, body: string): Dict {
    this.checkRequiredCredentials();
    const difference = this.safeInteger(this.options, 'timeDifference', 0)!;
    const timestamp = Math.floor((this.milliseconds() - difference) / 1000).toString();
    const nonce = this.requestNonce();
    const bodyHash = this.hash(this.encode(body), sha256, 'hex');
    const text = ['v2', timestamp, nonce, method, target, bodyHash].join('\n');
    const padded = this.secret.padEnd(Math.ceil(this.secret.length / 4) * 4, '=');
    const secret = this.base64ToBinary(padded.replaceAll('-', '+').replaceAll('_', '/'));
    const signature = this.hmac(this.encode(text), secret, sha256, 'base64');
    return {
      'x-svc-api-key': this.apiKey,
      'x-svc-passphrase': this.password,
      'x-svc-timestamp': timestamp,
      'x-svc-signing-version': '2',
      'x-svc-nonce': nonce,
      'x-svc-signature': signature.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''),
    };
  }

  requestNonce(): string {
    return this.uuid();
  }

  /** Makes two orders that are alike in everything else two orders. */
  orderSalt(): string {
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(32));
    return this.convertToBigInt(`0x${this.binaryToBase16(bytes)}`).toString();
  }

  handleErrors(
    status: Int,
    _reason: string,
    _url: string,
    _method: string,
    _headers: Dict,
    body: string,
    response: Dict,
  ): undefined {
    const [message, code] = [this.safeString(response, 'error'), this.safeString(response, 'code')];
    if (status === undefined || status < 400 || message === undefined) return;
    this.forgetTerms(code);
    this.throwRefusal(message, code, `${this.id} ${body}`);
  }

  /** Of a request, and of one order of a batch. */
  throwRefusal(message: Str, code: Str, feedback: string): never {
    this.throwExactlyMatchedException(this.exceptions['exact'], message, feedback);
    this.throwExactlyMatchedException(this.exceptions['exact'], code, feedback);
    throw new ExchangeError(feedback);
  }

  /** A refused signature or fee shows that what was kept of the exchange is not in force any more. */
  forgetTerms(code: Str): void {
    if (code === 'INVALID_SIGNATURE') this.options['domain'] = undefined;
    if (code === 'FEE_RATE_MISMATCH') this.options['feeRates'] = {};
  }

  async signingDomain(): Promise<Dict> {
    const known = this.safeDict(this.options, 'domain');
    if (known !== undefined) return known;
    const config = await this.publicGetPlatformConfig();
    const domain = this.safeDict(config, 'eip712_domain')!;
    this.options['domain'] = domain;
    return domain;
  }

  /** `maker` is another wallet than the signer's where the signer is its delegate. */
  signOrder(order: Dict, domain: Dict): Dict {
    if (this.privateKey === undefined || this.privateKey === '') {
      throw new ArgumentsRequired(`${this.id} an order is signed: it requires a privateKey`);
    }
    const signer = this.ethGetAddressFromPrivateKey(this.privateKey).toLowerCase();
    const hasWallet = this.walletAddress !== undefined && this.walletAddress !== '';
    const maker = hasWallet ? this.walletAddress.toLowerCase() : signer;
    const salt = this.orderSalt();
    const message = {
      ...{ salt, maker, signer, taker: ZERO_ADDRESS, tokenId: order['token_id'] },
      ...{ makerAmount: order['maker_amount'], takerAmount: order['taker_amount'] },
      ...{ expiration: order['expiration'], nonce: order['nonce'], feeRateBps: order['fee_rate_bps'] },
      ...{ minTakerNet: order['min_taker_net'], side: order['side'] === 'BUY' ? 0 : 1 },
    };
    const encoded = this.ethEncodeStructuredData(domain, { Order: ORDER }, message);
    const digest = this.hash(encoded, keccak, 'hex');
    const { r, s, v } = ecdsa(digest.slice(-64), this.remove0xPrefix(this.privateKey).slice(-64), secp256k1);
    const end = this.intToBase16(27 + (v ?? 0));
    const signature = `0x${r.padStart(64, '0')}${s.padStart(64, '0')}${end}`.toLowerCase();
    return this.extend(order, { maker, signer, taker: ZERO_ADDRESS, salt, signature });
  }

  /** "12.5" tokens or USDC are 12500000 units; InvalidOrder if it is no whole number of them. */
  toUnits(amount: string): string {
    const units = Precise.stringMul(amount, UNITS)!;
    if (!/^\d+$/.test(units)) throw new InvalidOrder(`${this.id} ${amount} has more than 6 decimals`);
    return units;
  }

  fromUnits(units: Str): Str {
    return units === undefined ? undefined : Precise.stringDiv(units, UNITS);
  }
}
