/**
 * Requests: their addresses, the HMAC of a key and the EIP-712 signature of an order. Amounts are decimal texts,
 * computed with CCXT's Precise: none is ever a number on the way to a signature.
 */
import { Described } from './describe.ts';
import {
  ArgumentsRequired,
  type Dict,
  ecdsa,
  InvalidOrder,
  keccak,
  Precise,
  type Str,
  secp256k1,
  sha256,
  type Unified,
} from './upstream.ts';

export abstract class Requests extends Described {
  sign(
    path: string,
    api: Unified = 'public',
    method: string = 'GET',
    params: Dict = {},
    headers: Unified = undefined,
    body: Unified = undefined,
  ): Dict {
    const query = this.omit(params, this.extractParams(path));
    let target = `/${this.version}/${this.implodeParams(path, params)}`;
    if (method === 'GET') {
      const text = this.urlencode(query);
      if (text !== '') {
        target = `${target}?${text}`;
      }
    } else if (!this.isEmpty(query)) {
      body = this.json(query);
      headers = { 'Content-Type': 'application/json' };
    }
    if (api === 'private') {
      const signed = body === undefined ? '' : body;
      headers = this.extend(headers, this.keyHeaders(method, target, signed));
    }
    return { url: this.restUrl() + target, method, body, headers };
  }

  restUrl(): string {
    let url = this.safeString(this.urls['api'], 'rest', '');
    while (url.endsWith('/')) {
      const end = url.length - 1;
      url = url.slice(0, end);
    }
    return url;
  }

  /** Signing version 2: a fresh nonce makes each of them good for one request. */
  keyHeaders(method: string, target: string, body: string): Dict {
    this.checkRequiredCredentials();
    const difference = this.safeInteger(this.options, 'timeDifference', 0);
    const timestamp: Unified = this.numberToString(this.parseToInt((this.milliseconds() - difference) / 1000));
    const nonce = this.requestNonce();
    const bodyHash = this.hash(this.encode(body), sha256, 'hex');
    const text = ['v2', timestamp, nonce, method, target, bodyHash].join('\n');
    let secret = this.secret.replaceAll('-', '+').replaceAll('_', '/');
    while (secret.length % 4 > 0) {
      secret = `${secret}=`;
    }
    const signature = this.hmac(this.encode(text), this.base64ToBinary(secret), sha256, 'binary');
    return {
      'x-svc-api-key': this.apiKey,
      'x-svc-passphrase': this.password,
      'x-svc-timestamp': timestamp,
      'x-svc-signing-version': '2',
      'x-svc-nonce': nonce,
      'x-svc-signature': this.urlencodeBase64(signature),
    };
  }

  requestNonce(): string {
    return this.uuid();
  }

  /** Makes two orders that are alike in everything else two orders. */
  orderSalt(): string {
    const time: Unified = this.numberToString(this.milliseconds());
    const chance: Unified = this.numberToString(this.randNumber(15));
    return time + chance;
  }

  async signingDomain(): Promise<Dict> {
    const known = this.safeDict(this.options, 'domain');
    if (known !== undefined) {
      return known;
    }
    const config = await this.publicGetPlatformConfig();
    const domain = this.safeDict(config, 'eip712_domain', {});
    this.options['domain'] = domain;
    return domain;
  }

  /** The members of an order, in the order in which they are signed. */
  orderType(): Dict[] {
    return [
      { name: 'salt', type: 'uint256' },
      { name: 'maker', type: 'address' },
      { name: 'signer', type: 'address' },
      { name: 'taker', type: 'address' },
      { name: 'tokenId', type: 'uint256' },
      { name: 'makerAmount', type: 'uint256' },
      { name: 'takerAmount', type: 'uint256' },
      { name: 'expiration', type: 'uint256' },
      { name: 'nonce', type: 'uint256' },
      { name: 'feeRateBps', type: 'uint256' },
      { name: 'minTakerNet', type: 'uint256' },
      { name: 'side', type: 'uint8' },
    ];
  }

  /** `maker` is another wallet than the signer's where the signer is its delegate. */
  signOrder(order: Dict, domain: Dict): Dict {
    if (this.privateKey === undefined || this.privateKey === '') {
      throw new ArgumentsRequired(`${this.id} an order is signed: it requires a privateKey`);
    }
    const signer = this.ethGetAddressFromPrivateKey(this.privateKey).toLowerCase();
    let maker = signer;
    if (this.walletAddress !== undefined && this.walletAddress !== '') {
      maker = this.walletAddress.toLowerCase();
    }
    const salt = this.orderSalt();
    const taker = '0x0000000000000000000000000000000000000000';
    const message = {
      salt: this.convertToBigInt(salt),
      maker,
      signer,
      taker,
      tokenId: this.convertToBigInt(order['token_id']),
      makerAmount: this.convertToBigInt(order['maker_amount']),
      takerAmount: this.convertToBigInt(order['taker_amount']),
      expiration: order['expiration'],
      nonce: order['nonce'],
      feeRateBps: order['fee_rate_bps'],
      minTakerNet: this.convertToBigInt(order['min_taker_net']),
      side: order['side'] === 'BUY' ? 0 : 1,
    };
    const encoded = this.ethEncodeStructuredData(domain, { Order: this.orderType() }, message);
    const digest = this.hash(encoded, keccak, 'hex');
    const key = this.remove0xPrefix(this.privateKey);
    const signed: Unified = ecdsa(digest.slice(-64), key.slice(-64), secp256k1, undefined);
    const r: string = signed['r'];
    const s: string = signed['s'];
    const end = this.intToBase16(this.sum(27, signed['v']));
    const signature = `0x${r.padStart(64, '0')}${s.padStart(64, '0')}${end}`;
    return this.extend(order, { maker, signer, taker, salt, signature: signature.toLowerCase() });
  }

  /** "12.5" tokens or USDC are 12500000 units; InvalidOrder if it is no whole number of them. */
  toUnits(amount: Str): string {
    const units: Unified = Precise.stringMul(amount, '1000000');
    if (units.indexOf('.') >= 0) {
      throw new InvalidOrder(`${this.id} ${amount} has more than 6 decimals`);
    }
    return units;
  }

  fromUnits(units: Str): Str {
    if (units === undefined) {
      return undefined;
    }
    return Precise.stringDiv(units, '1000000');
  }
}
