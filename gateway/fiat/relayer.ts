/**
 * Sends signed transfers with the exchange's own key, which pays for them. A failure at any point leaves bytes that can
 * be sent again, and no second transfer: the token carries out a transfer once by (from, nonce).
 * Owner: the gateway thread, one process at a time (`mayBroadcast`).
 *
 *   preflight ──► row with account nonce, unsigned and signed bytes, durable ──► broadcast ──► accepted
 *                       ▲ same bytes again, whenever it is not known what became of them ┘
 *
 * Invariants:
 *   RELAYER-1  An account nonce and the bytes that use it are one row, durable before the bytes leave.
 *   RELAYER-2  No envelope gets a further account nonce while one that may not have left waits: so there are no gaps.
 *   RELAYER-3  A replacement has the same account nonce and a higher fee, and is a row of its own before it leaves.
 *   RELAYER-4  `accepted` is written after the rail has said so.
 *   RELAYER-5  Nothing leaves while `mayBroadcast` says no: another process may be the writer.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { FiatSessions } from '../store/fiatSessions.ts';
import type { FiatTransfers, Intent, StoredEnvelope } from '../store/fiatTransfers.ts';
import type { PreflightFault, Rail } from './rail.ts';

type RelayerOptions = {
  readonly rail: Rail;
  readonly sessions: Pick<FiatSessions, 'write' | 'durable'>;
  readonly transfers: FiatTransfers;
  readonly clock: Clock;
  /** True while this process is the one that may send. */
  readonly mayBroadcast: () => boolean | Promise<boolean>;
  /** False for a session whose transfer must not leave now. */
  readonly mayLeave: (sessionId: string) => boolean;
};

/** `waiting`: not now, ask again. `refused`: it is in no pool, and will be sent again when asked. */
export type Relayed =
  | { readonly result: 'accepted'; readonly txHash: string }
  | { readonly result: 'waiting' }
  | { readonly result: 'refused'; readonly reason: PreflightFault | 'rail' };

const WAITING: Relayed = Object.freeze({ result: 'waiting' });
/** Times that a fee is raised in one go. */
const MAX_BUMPS = 5;

export class Relayer {
  readonly #options: RelayerOptions;
  #isBusy = false;

  constructor(options: RelayerOptions) {
    this.#options = options;
  }

  get state(): 'idle' | 'busy' | 'waiting' {
    if (this.#isBusy) return 'busy';
    return this.#options.transfers.unsent() === undefined ? 'idle' : 'waiting';
  }

  /** Sends the transfer of a signed intent, or sends it again with the same bytes. */
  relay(intent: Intent): Promise<Relayed> {
    return this.#alone(async () => {
      const own = this.#last(intent.sessionId);
      if (own?.state === 'built') return this.#send(own, intent);
      if (own?.state === 'accepted') return { result: 'accepted', txHash: own.txHash };
      const unsent = this.#options.transfers.unsent();
      // RELAYER-2: the session of that envelope sends it. One that must not leave gives up its account nonce.
      if (unsent !== undefined && this.#options.mayLeave(unsent.sessionId)) return WAITING;
      if (!(await this.#options.mayBroadcast())) return WAITING;
      const fault = await this.#options.rail.preflight(intent, intent.signature!);
      if (fault !== null) return { result: 'refused', reason: fault };
      return this.#send(await this.#build(intent, unsent ?? null), intent);
    });
  }

  /** A transaction is in no block for too long: sends the same bytes again, or others at a higher price. */
  hasten(intent: Intent, isReplaced: boolean): Promise<Relayed> {
    return this.#alone(async () => {
      const last = this.#last(intent.sessionId);
      if (last === undefined || last.state === 'dead') return WAITING;
      const { rail } = this.#options;
      if ((await rail.accountNonce()) > last.accountNonce) return this.#passedOver(last, intent);
      return this.#send(isReplaced ? await this.#build(intent, last) : last, intent);
    });
  }

  /** A transaction was reverted: its bytes are worth nothing any more. */
  async forget({ sessionId }: Intent): Promise<void> {
    const { sessions, transfers } = this.#options;
    const last = this.#last(sessionId);
    if (last === undefined) return;
    sessions.write(() => transfers.setEnvelope(last.txHash, 'dead'));
    await sessions.durable();
  }

  async #alone(work: () => Promise<Relayed>): Promise<Relayed> {
    if (this.#isBusy) return WAITING;
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }

  #last(sessionId: string): StoredEnvelope | undefined {
    return this.#options.transfers.envelopesOf(sessionId).at(-1);
  }

  /** RELAYER-1, and RELAYER-3 where there is one to replace. */
  async #build(intent: Intent, replaced: StoredEnvelope | null): Promise<StoredEnvelope> {
    const { rail, sessions, transfers, clock } = this.#options;
    const [fee, railNonce] = [await rail.fee(), await rail.accountNonce()];
    // A node that is behind says too little, a database that was brought back too.
    const accountNonce = replaced?.accountNonce ?? Math.max(railNonce, transfers.nextNonce());
    const price = replaced === null ? fee : Math.max(fee, rail.bumpedFee(replaced.fee));
    const transfer = transferOf(intent);
    const made = rail.envelope({ accountNonce, fee: price, transfer, signature: intent.signature! });
    const { sessionId } = intent;
    const row = { ...made, sessionId, accountNonce, fee: price, state: 'built' as const, createdMs: clock.nowMs() };
    sessions.write(() => {
      if (replaced !== null) transfers.setEnvelope(replaced.txHash, 'dead');
      transfers.addEnvelope(row);
    });
    await sessions.durable();
    return { ...row, sequence: 0 };
  }

  async #send(envelope: StoredEnvelope, intent: Intent): Promise<Relayed> {
    const { rail } = this.#options;
    let sent = envelope;
    for (let bumps = 0; bumps <= MAX_BUMPS; bumps++) {
      // RELAYER-5: asked last, because the answer can change while bytes are made.
      const mayGo = this.#options.mayLeave(intent.sessionId) && (await this.#options.mayBroadcast());
      if (!mayGo) return WAITING;
      const result = await rail.broadcast(sent.signed);
      if (result === 'accepted') return this.#accepted(sent);
      if (result === 'nonce_too_low') return this.#passedOver(sent, intent);
      if (result === 'refused') return { result: 'refused', reason: 'rail' };
      sent = await this.#build(intent, sent);
    }
    return { result: 'refused', reason: 'rail' };
  }

  /** A block has a transaction with this account nonce: our own most likely, and then everything is well. */
  async #passedOver(envelope: StoredEnvelope, intent: Intent): Promise<Relayed> {
    const { rail, sessions, transfers } = this.#options;
    const authorization = await rail.authorization(intent.from, intent.nonce);
    if (authorization.state === 'used') return { result: 'accepted', txHash: authorization.txHash };
    for (const { txHash } of transfers.envelopesOf(intent.sessionId)) {
      if ((await rail.transaction(txHash)) !== null) return { result: 'accepted', txHash };
    }
    sessions.write(() => transfers.killNonce(envelope.accountNonce));
    await sessions.durable();
    return WAITING;
  }

  /** RELAYER-4 */
  async #accepted({ txHash }: StoredEnvelope): Promise<Relayed> {
    const { sessions, transfers } = this.#options;
    sessions.write(() => transfers.setEnvelope(txHash, 'accepted'));
    await sessions.durable();
    return { result: 'accepted', txHash };
  }
}

function transferOf({ from, to, valueMicro, validAfterSec, validBeforeSec, nonce }: Intent) {
  return { from, to, valueMicro, validAfterSec, validBeforeSec, nonce };
}
