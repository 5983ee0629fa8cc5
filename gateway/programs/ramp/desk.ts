/**
 * The desk of the sandbox provider: launches, and the deals of customers. `settling.ts` moves the money.
 * Owner: the provider's thread.
 *
 * Invariants:
 *   DESK-1  A launch token opens its page once and for five minutes; the visitor who opened it stays its customer.
 *   DESK-2  A launch becomes at most one deal.
 *   DESK-3  The provider sells no USDC that it does not have: promised USDC that has not left counts as gone.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../../shared/base/clock.ts';
import type { RampRail } from './rail.ts';
import type { DealRow, LaunchRow, RampKind, RampStore } from './store.ts';
import { type DealStatus, type Switches, trySwitched, USUAL } from './switches.ts';

const LAUNCH_MS = 5 * 60_000;
const DEADLINE_MS = 30 * 60_000;
const TOKEN_BYTES = 32;
const ID_BYTES = 16;
const MIN_AMOUNT_MICRO = 1_000_000;
const MAX_AMOUNT_MICRO = 1_000_000_000_000;

type DeskOptions = {
  readonly store: RampStore;
  readonly rail: RampRail;
  readonly clock: Clock;
  readonly randomHex: (bytes: number) => string;
};

type LaunchWish = {
  readonly kind: RampKind;
  readonly reference: string;
  readonly wallet: string;
  readonly amountMicro: number | null;
  readonly currency: string;
  readonly method: string;
  readonly returnUrl: string | null;
};

type Visit = { readonly launch: LaunchRow; readonly deal: DealRow | undefined };

/** Reasons why a customer's deal is refused. */
type DealRefusal = 'amount' | 'float' | 'closed';

export class Desk {
  readonly store: RampStore;
  readonly rail: RampRail;
  readonly clock: Clock;
  readonly #randomHex: (bytes: number) => string;

  constructor({ store, rail, clock, randomHex }: DeskOptions) {
    this.store = store;
    this.rail = rail;
    this.clock = clock;
    this.#randomHex = randomHex;
  }

  get switches(): Switches {
    const kept = this.store.setting('switches');
    return kept === undefined ? USUAL : { ...USUAL, ...JSON.parse(kept) };
  }

  /** @returns null if a change is unknown or invalid. */
  switch(changes: unknown): Switches | null {
    const switches = trySwitched(this.switches, changes);
    if (switches !== null) this.store.setSetting('switches', JSON.stringify(switches));
    return switches;
  }

  randomHex(bytes: number): string {
    return this.#randomHex(bytes);
  }

  launch({ amountMicro, returnUrl, ...wish }: LaunchWish): { readonly token: string; readonly expiresAtMs: number } {
    const token = this.#randomHex(TOKEN_BYTES);
    const expires_ms = this.clock.nowMs() + LAUNCH_MS;
    this.store.addLaunch({
      ...wish,
      id: this.#randomHex(ID_BYTES),
      token_hash: hash('sha256', token),
      visitor_hash: null,
      amount_micro: amountMicro,
      return_url: returnUrl,
      expires_ms,
    });
    return { token, expiresAtMs: expires_ms };
  }

  /** DESK-1. @returns the secret of the visitor; null if the token is used, old or unknown. */
  enter(token: string): string | null {
    const launch = this.store.launchOfToken(hash('sha256', token));
    if (launch === undefined || launch.visitor_hash !== null || this.clock.nowMs() >= launch.expires_ms) return null;
    const visitor = this.#randomHex(TOKEN_BYTES);
    this.store.setVisitor(launch.id, hash('sha256', visitor));
    return visitor;
  }

  visit(visitor: string): Visit | null {
    const launch = this.store.launchOfVisitor(hash('sha256', visitor));
    return launch === undefined ? null : { launch, deal: this.store.dealOfLaunch(launch.id) };
  }

  /** The customer pays for USDC, or agrees to send USDC. */
  async agree({ launch }: Visit, amountMicro: number, method: string): Promise<DealRow | DealRefusal> {
    if (!(amountMicro >= MIN_AMOUNT_MICRO && amountMicro <= MAX_AMOUNT_MICRO)) return 'amount';
    const balanceMicro = launch.kind === 'onramp' ? await this.rail.balanceMicro() : 0;
    return this.store.together(() => {
      // DESK-2. The launch may have become a deal in the meantime.
      if (this.store.dealOfLaunch(launch.id) !== undefined) return 'closed';
      const isShort = balanceMicro - this.store.promisedMicro() < amountMicro;
      if (launch.kind === 'onramp' && isShort) return 'float';
      return this.#add(launch, amountMicro, method);
    });
  }

  /** Queues the event of a status that has changed. */
  change(deal: DealRow, status: DealStatus, changes: Partial<DealRow> = {}): void {
    const updated_ms = this.clock.nowMs();
    this.store.together(() => {
      this.store.changeDeal(deal.id, { ...changes, status, updated_ms });
      this.#queueHooks(deal, status, updated_ms);
    });
  }

  #add({ id, kind, reference, wallet, currency }: LaunchRow, amount_micro: number, method: string): DealRow {
    const { paymentsDeclined, listDelayMs } = this.switches;
    const nowMs = this.clock.nowMs();
    const isBuy = kind === 'onramp';
    const isDeclined = isBuy && paymentsDeclined;
    const dealId = this.#randomHex(ID_BYTES);
    this.store.addDeal({
      id: dealId,
      launch_id: id,
      kind,
      reference,
      wallet,
      amount_micro,
      currency,
      method,
      status: isDeclined ? 'failed' : 'created',
      tx_hash: null,
      agreed_ms: nowMs,
      listed_ms: isBuy ? nowMs : nowMs + listDelayMs,
      deadline_ms: isBuy ? null : nowMs + DEADLINE_MS,
      funded_ms: null,
      updated_ms: nowMs,
      is_open: isDeclined ? 0 : 1,
    });
    const deal = this.store.deal(dealId)!;
    if (isBuy && !isDeclined) this.store.addBank(dealId, 'taken', deal, nowMs);
    this.#queueHooks(deal, deal.status, nowMs);
    return deal;
  }

  #queueHooks({ id, kind, reference }: DealRow, status: DealStatus, nowMs: number): void {
    const { hookCopies, hookDelayMs, hooksContradict } = this.switches;
    const event_id = this.#randomHex(ID_BYTES);
    const said = hooksContradict ? CONTRARY[status] : status;
    const body = JSON.stringify({ event_id, kind, reference, transaction_id: id, status: said, at_ms: nowMs });
    for (let copy = 0; copy < hookCopies; copy++) this.store.addHook({ event_id, body, due_ms: nowMs + hookDelayMs });
  }
}

const CONTRARY: Readonly<Record<DealStatus, DealStatus>> = {
  created: 'success',
  started: 'created',
  success: 'failed',
  failed: 'success',
  expired: 'started',
  refunded: 'success',
};
