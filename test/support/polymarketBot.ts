/**
 * A bot that speaks the CLOB's interface by itself, with requests in the recorded shapes of py-clob-client: names of
 * headers, order of members, a body without spaces.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { eventually } from './eventually.ts';
import type { Json } from './server.ts';

const EXCHANGE = '0x4bFb41d5B3570DeFd03C39a9A4D8dE6Bd8B8982E';
const CHAIN_ID = 137;
const ATTESTED = 'This message attests that I control the given wallet';
const ZERO = `0x${'0'.repeat(40)}`;
const field = (type: string) => (name: string) => ({ name, type });
const [uint, address, small] = [field('uint256'), field('address'), field('uint8')];
const ORDER = [
  ...[uint('salt'), address('maker'), address('signer'), address('taker'), uint('tokenId'), uint('makerAmount')],
  ...[
    uint('takerAmount'),
    uint('expiration'),
    uint('nonce'),
    uint('feeRateBps'),
    small('side'),
    small('signatureType'),
  ],
];
const AUTH = [address('address'), field('string')('timestamp'), uint('nonce'), field('string')('message')];

type Shape = { readonly side: 'BUY' | 'SELL'; readonly makerAmount: string; readonly takerAmount: string };
type Answer = { readonly status: number; readonly body: Json };

export class PolymarketBot {
  #host: string;
  readonly #account: PrivateKeyAccount;
  #salt = 1;
  key = { apiKey: '', secret: '', passphrase: '' };

  constructor(host: string, privateKey = generatePrivateKey()) {
    this.#host = host;
    this.#account = privateKeyToAccount(privateKey);
  }

  /** The same bot at another address. */
  at(host: string): this {
    this.#host = host;
    return this;
  }

  get address(): string {
    return this.#account.address;
  }

  get socketHost(): string {
    return this.#host.replace('http', 'ws');
  }

  /** Level 1. */
  async attest(method: string, path: string, nonce = 0): Promise<Answer> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = await this.#account.signTypedData({
      domain: { name: 'ClobAuthDomain', version: '1', chainId: CHAIN_ID },
      types: { ClobAuth: AUTH },
      primaryType: 'ClobAuth',
      message: { address: this.address, timestamp, nonce: BigInt(nonce), message: ATTESTED },
    });
    const headers = { POLY_ADDRESS: this.address, POLY_SIGNATURE: signature, POLY_TIMESTAMP: timestamp };
    return this.send(method, path, undefined, { ...headers, POLY_NONCE: String(nonce) });
  }

  async signIn(): Promise<this> {
    const { status, body } = await this.attest('POST', '/auth/api-key');
    assert.equal(status, 200, JSON.stringify(body));
    this.key = body;
    return this;
  }

  /** Level 2; a query is not signed. */
  ask(method: string, path: string, payload?: unknown, changed: Record<string, string> = {}): Promise<Answer> {
    const body = payload === undefined ? undefined : JSON.stringify(payload);
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signed = `${timestamp}${method}${path.split('?')[0]}${body ?? ''}`;
    const mac = createHmac('sha256', Buffer.from(this.key.secret, 'base64url')).update(signed).digest('base64');
    return this.send(method, path, body, {
      POLY_ADDRESS: this.address,
      POLY_SIGNATURE: mac.replaceAll('+', '-').replaceAll('/', '_'),
      POLY_TIMESTAMP: timestamp,
      POLY_API_KEY: this.key.apiKey,
      POLY_PASSPHRASE: this.key.passphrase,
      ...changed,
    });
  }

  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
    const init = { method, headers: { ...headers, 'Content-Type': 'application/json' } };
    const response = await fetch(this.#host + path, body === undefined ? init : { ...init, body });
    return { status: response.status, body: await response.json() };
  }

  /** The body of POST /order. */
  async order(tokenId: string, shape: Shape, orderType = 'GTC', changed: object = {}): Promise<Json> {
    const order = {
      ...{ salt: this.#salt++, maker: this.address, signer: this.address, taker: ZERO, tokenId },
      ...{ makerAmount: shape.makerAmount, takerAmount: shape.takerAmount, expiration: '0', nonce: '0' },
      ...{ feeRateBps: '50', side: shape.side, signatureType: 0 },
      ...changed,
    };
    const signature = await this.#account.signTypedData({
      domain: { name: 'Polymarket CTF Exchange', version: '1', chainId: CHAIN_ID, verifyingContract: EXCHANGE },
      types: { Order: ORDER },
      primaryType: 'Order',
      message: { ...order, side: order.side === 'BUY' ? 0 : 1 },
    });
    return { order: { ...order, signature }, owner: this.key.apiKey, orderType };
  }

  async place(tokenId: string, shape: Shape, orderType = 'GTC', changed: object = {}): Promise<Answer> {
    return this.ask('POST', '/order', await this.order(tokenId, shape, orderType, changed));
  }
}

/** A channel as a bot reads it: everything that came, and a wait for what is to come. */
export class PolymarketSocket {
  readonly messages: Json[] = [];
  readonly closed: Promise<void>;
  readonly #socket: WebSocket;

  constructor(url: string, first: object) {
    this.#socket = new WebSocket(url);
    this.#socket.onopen = () => this.#socket.send(JSON.stringify(first));
    this.#socket.onmessage = ({ data }) => {
      this.messages.push(...(data === 'PONG' ? [data] : [JSON.parse(data)].flat()));
    };
    this.closed = new Promise((resolve) => {
      this.#socket.onclose = () => resolve();
    });
  }

  /** The exchange carries out messages in order: once it answers this, the first one is. */
  async subscribed(): Promise<void> {
    await eventually('the socket is open', async () => this.#socket.readyState === WebSocket.OPEN);
    this.#socket.send('PING');
    await eventually('the ping is answered', async () => this.messages.includes('PONG'));
  }

  close(): void {
    this.#socket.close();
  }

  of(type: string): Json[] {
    return this.messages.filter(({ event_type }) => event_type === type);
  }
}
