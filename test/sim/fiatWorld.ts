/**
 * One world of the fiat model: customers, the exchange, the provider and time, interleaved by a seed, with crashes of
 * both sides, lost answers, lying lists and customers who do everything twice. At its end all faults stop and time
 * passes until nothing is left to do; then `fiatTruth.ts` checks where the money is.
 */

import type { FiatSession } from '../../gateway/fiat/fiatSessionsStore.ts';
import type { Rail } from '../../gateway/fiat/rail.ts';
import { STATUSES, type Switches, USUAL } from '../../gateway/programs/ramp/switches.ts';
import { cancelDigest, transferDigest } from '../../shared/crypto/eip3009.ts';
import { ManualClock } from '../support/manualClock.ts';
import { Random } from '../support/random.ts';
import { ChainWorldRail } from './fiatChainRail.ts';
import { ModelExchange, template } from './fiatExchange.ts';
import { Gates, Life } from './fiatGates.ts';
import { LedgerWorldRail } from './fiatLedgerRail.ts';
import { ModelProvider, signed } from './fiatProvider.ts';
import { CUSTOMERS, KEYS, PROVIDER, WALLETS, type WorldOptions, type WorldRail } from './fiatRail.ts';

export const WORLD_START_MS = 1_790_000_000_000;
const USDC = 1_000_000;
const MAX_SESSIONS = 4;
const MAX_STEPS = 250;
const HEALING_STEPS = 300;
const SLOWEST_MS = 300_000;
/** Blocks first, then the pauses of polls, then hours. */
const HEALING_PACES = [
  { until: 25, ms: 2000 },
  { until: 45, ms: 35_000 },
  { until: HEALING_STEPS, ms: SLOWEST_MS },
];
/** The provider is asked about an ended session every ten minutes: it may still report late what it has sold. */
const QUIET_STEPS = 6;

/** A session as its customer knows it: by the answers that came. */
export type KnownSession = {
  readonly id: string;
  readonly customer: number;
  readonly kind: 'onramp' | 'offramp';
  launchUrl: string | null;
  isSigned: boolean;
  isCancelled: boolean;
};

export class FiatWorld {
  readonly random: Random;
  readonly clock = new ManualClock(WORLD_START_MS);
  readonly gates: Gates;
  readonly rail: WorldRail;
  readonly exchange: ModelExchange;
  readonly provider: ModelProvider;
  readonly known: KnownSession[] = [];
  /** The events so far, for the report of a failure. */
  readonly log: string[] = [];
  /** True once the provider's lists have said something false. */
  hasLied = false;
  /** The longest pause ends when a sale is over, or shortly before. */
  readonly #awayMs: number;

  constructor(seed: number, on: Rail['name'] | ((options: WorldOptions) => WorldRail)) {
    this.random = new Random(seed);
    this.#awayMs = seed % 3 === 0 ? 1_550_000 : 1_750_000;
    const { random, clock } = this;
    this.gates = new Gates(random, random.pick([0, 20, 50]));
    const { gates } = this;
    const exchange = (): ModelExchange => this.exchange;
    const options = { clock, gates, random };
    if (typeof on === 'function') this.rail = on(options);
    else this.rail = on === 'ledger' ? new LedgerWorldRail({ ...options, exchange }) : new ChainWorldRail(options);
    const { rail } = this;
    this.exchange = new ModelExchange({ rail, clock, gates, provider: () => this.provider.adapter });
    this.provider = new ModelProvider({ ...options, rail, exchange });
    this.exchange.start();
  }

  async run(): Promise<void> {
    const { rail } = this;
    if (rail.settled !== undefined) await rail.settled();
    const steps = this.random.between(40, MAX_STEPS);
    for (let step = 0; step < steps; step++) {
      this.#act();
      await turn();
      if (rail.settled !== undefined) await rail.settled();
    }
    await this.#heal();
  }

  close(): void {
    if (!this.exchange.life.isOver) this.exchange.end(true);
    this.provider.store.close();
  }

  #act(): void {
    const { random, gates } = this;
    const chance = random.below(100);
    if (chance < 30) gates.releaseOne();
    else if (chance < 50) this.#pass(random.pick([100, 500, 1000, 3000]));
    else if (chance < 60) this.provider.tick();
    else if (chance < 90) this.#customer();
    else if (chance < 93) this.#crash();
    else if (chance < 95) this.#restartProvider();
    else if (chance < 97) this.#misbehave();
    else if (chance < 99) this.#pass(random.pick([20_000, 40_000, 90_000]));
    else this.#pass(random.pick([300_000, this.#awayMs]));
  }

  #pass(ms: number): void {
    this.clock.advance(ms);
    this.#tick();
  }

  #tick(): void {
    this.rail.tick();
    this.exchange.tick();
  }

  #crash(): void {
    const { exchange, random } = this;
    if (exchange.life.isOver) {
      exchange.start();
      return;
    }
    const isPowerCut = random.chance(50);
    this.#note(isPowerCut ? 'power cut' : 'kill');
    exchange.end(isPowerCut);
    if (random.chance(70)) exchange.start();
  }

  #restartProvider(): void {
    this.#note('provider restarts');
    this.provider.start();
  }

  #misbehave(): void {
    const { random, provider, rail } = this;
    const act = rail.misbehave();
    if (act !== null) this.#note(act);
    const changes: Partial<Switches> = random.pick([
      {},
      { answers: random.pick(['errors', 'hanging', 'garbage', 'empty', 'right'] as const) },
      { hookCopies: random.below(3), hookDelayMs: random.pick([0, 5000, 60_000]), hooksReversed: random.chance(50) },
      { hooksContradict: random.chance(50) },
      { payoutsFail: random.chance(50), returnsUsdc: random.chance(70) },
      { paymentsDeclined: random.chance(50) },
      { listDelayMs: random.pick([0, 2000, 120_000]) },
      { listedStatus: random.pick(['', ...STATUSES] as const) },
      { listedNetwork: random.pick(['polygon', 'base']) },
      { listedHash: random.pick(['', this.#someHash()]) },
    ]);
    const { listedStatus, listedHash } = changes;
    if (listedStatus || listedHash) this.hasLied = true;
    this.#note(`switches ${JSON.stringify(changes)}`);
    provider.desk.switch({ ...USUAL, ...changes });
  }

  /** The hash of an existing transaction, or of none. */
  #someHash(): string {
    const hashes = this.rail.hashes();
    return hashes === null ? '' : this.random.pick([...hashes, `0x${'ee'.repeat(32)}`]);
  }

  #customer(): void {
    const { random, known, exchange } = this;
    if (exchange.life.isOver) return;
    if (known.length < MAX_SESSIONS && random.chance(known.length === 0 ? 80 : 12)) {
      void this.#create();
      return;
    }
    if (random.chance(6)) {
      this.rail.spend(random.pick(CUSTOMERS));
      return;
    }
    if (known.length === 0) return;
    const session = random.pick(known);
    const acts = [this.#agree, this.#sign, this.#sign, this.#submit, this.#complete, this.#relaunch, this.#read];
    const rare = [this.#cancel, this.#payDirectly, this.#cancelOnRail, this.#signWrongly];
    const act = random.chance(90) ? random.pick(acts) : random.pick(rare);
    void act.call(this, session).catch((error: Error) => {
      if (error.message !== 'the process has ended') this.log.push(`! ${error.stack}`);
    });
  }

  /** Calls the exchange as its routes do. @returns undefined where no answer came. */
  async #ask<T>(work: () => Promise<T>): Promise<T | undefined> {
    const customer = new Life();
    return this.gates
      .callTo(customer, () => this.exchange.life, work)
      .catch((error: Error) => {
        if (error.name === 'LostCall') return undefined;
        throw error;
      });
  }

  async #create(): Promise<void> {
    const customer = this.random.pick(CUSTOMERS);
    const kind = this.random.pick(['onramp', 'offramp', 'offramp'] as const);
    const request = {
      account: template.accounts[customer],
      kind,
      provider: null,
      walletAddress: WALLETS[customer],
      amount: this.random.pick([null, '25', '25', '40.000001']),
      fiatCurrency: 'USD',
      paymentMethod: null,
      redirectPath: '/cash',
      idempotencyKey: null,
      fingerprint: '',
    };
    const made = await this.#ask(() => this.exchange.fiat.service.create(request, '127.0.0.1'));
    if (made === undefined || !('session' in made)) return;
    this.#note(`session ${made.session.id.slice(0, 4)} ${kind} of ${customer}`);
    const { id } = made.session;
    this.known.push({ id, customer, kind, launchUrl: made.launchUrl, isSigned: false, isCancelled: false });
  }

  #find({ id, customer }: KnownSession): FiatSession {
    const session = this.exchange.fiat.service.find(template.accounts[customer], id, null);
    if (session === null) throw new Error(`the session ${id} is lost`);
    return session;
  }

  async #relaunch(session: KnownSession): Promise<void> {
    const made = await this.#ask(async () => this.exchange.fiat.service.launch(this.#find(session), '127.0.0.1'));
    if (made !== undefined && 'launchUrl' in made) session.launchUrl = made.launchUrl;
  }

  /** The customer opens the launch URL and agrees, at the provider. */
  async #agree(session: KnownSession): Promise<void> {
    const { desk } = this.provider;
    const visitor = session.launchUrl === null ? null : desk.enter(session.launchUrl.split('/').at(-1)!);
    session.launchUrl = null;
    if (visitor === null) return;
    const visit = desk.visit(visitor)!;
    const amountMicro = visit.launch.amount_micro ?? this.random.pick([25, 25, 3]) * USDC;
    const deal = await desk.agree(visit, amountMicro, 'CARD').catch(() => 'lost');
    this.#note(`${session.id.slice(0, 4)} agreed: ${typeof deal === 'string' ? deal : deal.id.slice(0, 4)}`);
  }

  async #sign(session: KnownSession): Promise<void> {
    const intent = this.exchange.fiat.transfers.intentOf(session.id);
    if (intent === undefined) return;
    const signature = signed(KEYS[session.customer], intent.digest);
    const refusal = await this.#ask(() =>
      this.exchange.fiat.service.authorize(this.#find(session), intent.intentId, signature),
    );
    if (refusal === null) session.isSigned = true;
    this.#note(`${session.id.slice(0, 4)} signs: ${refusal === null ? 'kept' : JSON.stringify(refusal?.message)}`);
  }

  /** Signs with the key of the other customer. */
  async #signWrongly(session: KnownSession): Promise<void> {
    const intent = this.exchange.fiat.transfers.intentOf(session.id);
    if (intent === undefined) return;
    const signature = signed(KEYS[1 - session.customer], intent.digest);
    const refusal = await this.#ask(() =>
      this.exchange.fiat.service.authorize(this.#find(session), intent.intentId, signature),
    );
    if (refusal === null) throw new Error('a wrong signature was kept');
  }

  async #submit(session: KnownSession): Promise<void> {
    const intent = this.exchange.fiat.transfers.intentOf(session.id);
    if (intent === undefined) return;
    await this.#ask(() => this.exchange.fiat.service.submit(this.#find(session), intent.intentId));
  }

  async #complete(session: KnownSession): Promise<void> {
    await this.#ask(async () => this.exchange.fiat.service.complete(this.#find(session)));
  }

  async #read(session: KnownSession): Promise<void> {
    const { status } = this.#find(session);
    if (session.isCancelled && status !== 'cancelled' && status !== 'completed') throw new Error('no longer cancelled');
  }

  async #cancel(session: KnownSession): Promise<void> {
    if (session.kind === 'onramp') return;
    const refusal = await this.#ask(() => this.exchange.fiat.service.cancel(this.#find(session)));
    if (refusal === null) session.isCancelled = true;
    this.#note(`${session.id.slice(0, 4)} cancels: ${refusal === null}`);
  }

  /** The customer sends USDC to the provider without the exchange's relay. */
  async #payDirectly(session: KnownSession): Promise<void> {
    const { random, rail, clock } = this;
    const nonce = `0x${Array.from({ length: 8 }, () => random.next().toString(16).padStart(8, '0')).join('')}`;
    const transfer = {
      from: WALLETS[session.customer],
      to: PROVIDER,
      valueMicro: random.pick([25, 25, 40, 3]) * USDC,
      validAfterSec: 0,
      validBeforeSec: Math.floor(clock.nowMs() / 1000) + 3600,
      nonce,
    };
    const signature = signed(KEYS[session.customer], transferDigest(await rail.domain(), transfer));
    this.#note(`${session.customer} pays ${transfer.valueMicro / USDC} directly`);
    await this.#ask(() => rail.send('transfer', transfer, signature));
  }

  /** The customer invalidates a signed transfer on the rail. */
  async #cancelOnRail(session: KnownSession): Promise<void> {
    const { exchange, rail } = this;
    const intent = exchange.fiat.transfers.intentOf(session.id);
    if (intent === undefined) return;
    const digest = cancelDigest(await rail.domain(), intent.from, intent.nonce);
    const signature = signed(KEYS[session.customer], digest);
    this.#note(`${session.id.slice(0, 4)} is cancelled on the rail`);
    await this.#ask(() => rail.send('cancel', intent, signature));
  }

  /** Everything answers rightly from now on, and time passes until nothing is left to do. */
  async #heal(): Promise<void> {
    const { gates, exchange, provider, clock, rail } = this;
    this.#note('healed');
    gates.percent = 0;
    rail.heal();
    provider.desk.switch(USUAL);
    if (exchange.life.isOver) exchange.start();
    for (let step = 0, quiet = 0; step < HEALING_STEPS && quiet < QUIET_STEPS; step++) {
      quiet = this.#isQuiet() ? quiet + 1 : 0;
      clock.advance(quiet > 0 ? SLOWEST_MS : HEALING_PACES.find(({ until }) => step < until)!.ms);
      this.#tick();
      provider.tick();
      for (let turns = 0; turns < 3 || !gates.isEmpty; turns++) {
        gates.releaseAll();
        await turn();
        if (rail.settled !== undefined) await rail.settled();
      }
    }
  }

  #isQuiet(): boolean {
    const { exchange, provider, rail } = this;
    const { store } = provider;
    const arrived = rail.moved().filter(({ to }) => to === PROVIDER).length;
    const isSeen = store.query('SELECT 1 FROM arrivals').length === arrived;
    const owed = store.openDeals().length + store.openTransfers().length + store.arrivalsToReturn().length;
    return !rail.isBusy && owed === 0 && isSeen && [...exchange.fiat.sessions.open()].every(isSettled);
  }

  #note(text: string): void {
    this.log.push(`${((this.clock.nowMs() - WORLD_START_MS) / 1000).toFixed(1)}  ${text}`);
  }
}

/** True if nothing more is expected of the session, though a late answer of the provider could still come. */
function isSettled(session: FiatSession): boolean {
  if (session.status === 'completed') return true;
  const isOver = ['failed', 'expired', 'cancelled'].includes(session.status);
  return session.alarm !== null || (isOver && session.transferState !== 'submitted_on_chain');
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
