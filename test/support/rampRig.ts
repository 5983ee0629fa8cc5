/** The sandbox provider on a rail that the test moves by hand: its desk, its settling and its events, in one thread. */
import { createHash, randomBytes } from 'node:crypto';
import { Desk } from '../../gateway/programs/ramp/desk.ts';
import { Hooks, type SentHook } from '../../gateway/programs/ramp/hooks.ts';
import type { Arrival, OwnTransfer, OwnTransferState, RailMoment, RampRail } from '../../gateway/programs/ramp/rail.ts';
import { Ramp } from '../../gateway/programs/ramp/ramp.ts';
import { Settling } from '../../gateway/programs/ramp/settling.ts';
import { RampStore } from '../../gateway/programs/ramp/store.ts';
import { systemClock } from '../../shared/base/clock.ts';
import { freePort } from './freePort.ts';
import { ManualClock } from './manualClock.ts';
import type { Scope } from './server.ts';

const START_MS = 1_760_000_000_000;
export const RAMP_ADDRESS = `0x${'fe'.repeat(20)}`;
export const CUSTOMER = `0x${'c1'.repeat(20)}`;
export const REFERENCE = '0123456789abcdef0123456789abcdef';

/** A token in blocks of a second, each as naive as can be. */
class HandRail implements RampRail {
  readonly address = RAMP_ADDRESS;
  readonly clock: ManualClock;
  readonly balances = new Map<string, number>();
  readonly #used = new Map<string, { txHash: string; block: number }>();
  readonly #arrivals: Arrival[] = [];
  /** Transfers that were sent and are in no block, by nonce. */
  readonly pool = new Map<string, OwnTransfer>();
  sends = 0;
  isDown = false;
  /** True if it refuses transfers. */
  isBlocked = false;

  constructor(clock: ManualClock, floatMicro: number) {
    this.clock = clock;
    this.balances.set(RAMP_ADDRESS, floatMicro);
  }

  /** Blocks and their transfers. */
  mine(blocks = 1): void {
    for (const [nonce, { to, valueMicro, validBeforeSec }] of this.pool) {
      this.pool.delete(nonce);
      const isInTime = this.clock.nowMs() / 1000 < validBeforeSec;
      if (!isInTime || this.#used.has(nonce) || this.#of(RAMP_ADDRESS) < valueMicro) continue;
      this.#used.set(nonce, { txHash: hashOf(nonce), block: this.#block() + 1 });
      this.#move(RAMP_ADDRESS, to, valueMicro);
    }
    this.clock.advance(blocks * 1000);
  }

  /** A customer sends USDC to the provider. @returns the transaction. */
  arrive(from: string, valueMicro: number): string {
    const txHash = hashOf(`${from} ${this.#arrivals.length}`);
    this.#arrivals.push({ txHash, from, valueMicro, block: this.#block() });
    this.#move(from, RAMP_ADDRESS, valueMicro);
    return txHash;
  }

  async balanceMicro(): Promise<number> {
    this.#answer();
    return this.#of(RAMP_ADDRESS);
  }

  async moment(): Promise<RailMoment> {
    this.#answer();
    const block = this.#block();
    return { block, finalizedBlock: block, finalizedSec: block };
  }

  async sign(transfer: OwnTransfer): Promise<string> {
    return hashOf(JSON.stringify(transfer));
  }

  async send(transfer: OwnTransfer, signature: string): Promise<boolean> {
    this.#answer();
    this.sends++;
    if (this.isBlocked || signature !== hashOf(JSON.stringify(transfer))) return false;
    this.pool.set(transfer.nonce, transfer);
    return true;
  }

  async stateOf(nonce: string): Promise<OwnTransferState> {
    this.#answer();
    const used = this.#used.get(nonce);
    return used === undefined ? { state: 'unused' } : { state: 'used', ...used };
  }

  async arrivals(cursor: string) {
    this.#answer();
    const arrivals = this.#arrivals.slice(Number(cursor), Number(cursor) + 2);
    return { arrivals, cursor: String(Number(cursor) + arrivals.length) };
  }

  #of(address: string): number {
    return this.balances.get(address) ?? 0;
  }

  #move(from: string, to: string, valueMicro: number): void {
    this.balances.set(from, this.#of(from) - valueMicro);
    this.balances.set(to, this.#of(to) + valueMicro);
  }

  #block(): number {
    return Math.floor(this.clock.nowMs() / 1000);
  }

  #answer(): void {
    if (this.isDown) throw new Error('the rail is down');
  }
}

/** The same numbers in each run. */
function countedHex(): (bytes: number) => string {
  let count = 0;
  return (bytes) => hashOf(`random ${++count}`).slice(2, 2 + 2 * bytes);
}

export function makeRampRig(floatMicro = 1_000_000_000, path = ':memory:') {
  const clock = new ManualClock(START_MS);
  const rail = new HandRail(clock, floatMicro);
  const store = new RampStore(path);
  const desk = new Desk({ store, rail, clock, randomHex: countedHex() });
  const settling = new Settling(desk);
  const sent: SentHook[] = [];
  const hooks = new Hooks(desk, 'the-secret', async (hook) => sent.push(hook) > 0);
  const wish = {
    reference: REFERENCE,
    wallet: CUSTOMER,
    amountMicro: null,
    currency: 'USD',
    method: '',
    returnUrl: null,
  };
  /** A customer comes and agrees to an amount. */
  const agree = async (kind: 'onramp' | 'offramp', amountMicro: number) => {
    const { token } = desk.launch({ ...wish, kind });
    return desk.agree(desk.visit(desk.enter(token)!)!, amountMicro, 'CARD');
  };
  const agreed = async (kind: 'onramp' | 'offramp', amountMicro: number) => {
    const deal = await agree(kind, amountMicro);
    if (typeof deal === 'string') throw new Error(deal);
    return deal.id;
  };
  /** Blocks pass, and the provider works in each. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      rail.mine();
      await settling.tick();
      await hooks.tick();
    }
  };
  const statusOf = (id: string) => store.deal(id)!.status;
  return { clock, rail, store, desk, settling, hooks, sent, wish, agree, agreed, pass, statusOf };
}

function hashOf(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}

/** The whole provider on a port of its own. */
export async function startRamp(scope: Scope, { hasControl = true } = {}) {
  const clock = new ManualClock(START_MS);
  const rail = new HandRail(clock, 1_000_000_000);
  const sent: SentHook[] = [];
  const [apiKey, webhookSecret] = ['the-key-of-the-partner', 'the-secret-of-its-events'];
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const ramp = new Ramp({
    store: new RampStore(':memory:'),
    rail,
    clock: systemClock,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    apiKey,
    webhookSecret,
    sendHook: async (hook) => sent.push(hook) > 0,
    url: new URL(url),
    returnOrigins: ['https://exchange.example', url],
    hasControl,
    onError: (error) => {
      throw error;
    },
  });
  await ramp.listen('127.0.0.1', port);
  scope.after(() => ramp.close());
  const control = (method: string, path: string, body?: object) =>
    fetch(`${url}/control/${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return { url, rail, sent, apiKey, webhookSecret, control };
}
