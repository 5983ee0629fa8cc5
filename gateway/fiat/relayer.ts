/**
 * Sends signed transfers with the exchange's own key, which pays for them (RULES.md 16.21). A failure at any point
 * leaves bytes that can be sent again, and no second transfer: the token carries out a transfer once by (from, nonce).
 * Owner: the gateway thread, one process at a time (`mayBroadcast`).
 *
 *   preflight ──► row with account nonce, unsigned and signed bytes, durable ──► broadcast ──► accepted
 *                       ▲ same bytes again, whenever it is not known what became of them ┘
 *
 * Invariants:
 *   RELAYER-1  An account nonce and the bytes that use it are one row, durable before the bytes leave, each time: in a
 *              cluster the log may not hold a row that a try before has written.
 *   RELAYER-2  No envelope gets a further account nonce while one that may not have left waits.
 *   RELAYER-3  A replacement has the same account nonce and a higher fee, and is a row of its own before it leaves.
 *              Only what the rail has forgotten is replaced at the same fee, where it is the highest that is offered.
 *   RELAYER-4  `accepted` is written after the rail has said so.
 *   RELAYER-5  Nothing leaves while `mayBroadcast` says no: another process may be the writer.
 *   RELAYER-6  An account nonce that the rail waits for and that no envelope uses any more, because its session must
 *              not send now or its bytes are dead, goes to the next transfer: without it nothing after it is taken.
 *   RELAYER-7  Account nonces belong to the key that signs. Envelopes of an earlier key are not sent any more.
 *   RELAYER-8  Transfers have their turns one after the other, in the order in which they ask: none is passed over by
 *              one that asks as often.
 */
import type { Clock } from '../../shared/base/clock.ts';
import type { PreflightFault } from '../../shared/wire/railQuestions.ts';
import type { FiatSessions } from './fiatSessionsStore.ts';
import type { FiatTransfers, Intent, StoredEnvelope } from './fiatTransfersStore.ts';
import type { Rail } from './rail.ts';

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

/** An account nonce, and the transaction that may have it now. */
type Place = {
  readonly accountNonce: number;
  readonly replaced: StoredEnvelope | null;
  /** The rail does not know that transaction: a new one may have the same fee. */
  readonly isForgotten: boolean;
};

const WAITING: Relayed = Object.freeze({ result: 'waiting' });
const REFUSED: Relayed = Object.freeze({ result: 'refused', reason: 'rail' });
/** Times that a fee is raised in one go. */
const MAX_BUMPS = 5;
/** A node that calls a nonce used may count it only later. */
const PASSED_MS = 60_000;

export class Relayer {
  readonly #options: RelayerOptions;
  /** Under way or waiting, and the end of the last of them. */
  #turns = 0;
  #lastTurn: Promise<void> = Promise.resolve();
  /** Null until the rail has said it. */
  #sender: string | null = null;
  #passed = { accountNonce: 0, untilMs: 0 };

  constructor(options: RelayerOptions) {
    this.#options = options;
  }

  get state(): 'idle' | 'busy' | 'waiting' {
    if (this.#turns > 0) return 'busy';
    return this.#unsent() === undefined ? 'idle' : 'waiting';
  }

  /** Sends the transfer of a signed intent, or sends it again with the same bytes. */
  relay(intent: Intent): Promise<Relayed> {
    return this.#alone(async () => {
      const own = this.#last(intent.sessionId);
      if (own?.state === 'built') return this.#send(own, intent);
      if (own?.state === 'accepted') return { result: 'accepted', txHash: own.txHash };
      return this.#relayAnew(intent);
    });
  }

  /** A transaction is in no block for too long: sends the same bytes again, or others at a higher price. */
  hasten(intent: Intent, isReplaced: boolean): Promise<Relayed> {
    return this.#alone(async () => {
      const last = this.#last(intent.sessionId);
      if (last === undefined) return WAITING;
      // Its account nonce was used by another transaction.
      if (last.state === 'dead') return this.#relayAnew(intent);
      const railNonce = await this.#railNonce();
      if (railNonce > last.accountNonce) return this.#passedOver(last, intent);
      if (!isReplaced) return this.#send(last, intent);
      const gap = await this.#gap(railNonce);
      const place = gap ?? { accountNonce: last.accountNonce, replaced: last, isForgotten: false };
      return this.#send((await this.#build(intent, place)) ?? last, intent);
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

  /** RELAYER-8 */
  async #alone(work: () => Promise<Relayed>): Promise<Relayed> {
    const before = this.#lastTurn;
    const turn = (async () => {
      await before;
      this.#sender ??= await this.#options.rail.sender();
      return work();
    })();
    this.#lastTurn = turn.then(
      () => {},
      () => {},
    );
    this.#turns++;
    try {
      return await turn;
    } finally {
      this.#turns--;
    }
  }

  async #relayAnew(intent: Intent): Promise<Relayed> {
    const { rail, mayLeave, mayBroadcast } = this.#options;
    const unsent = this.#unsent();
    // RELAYER-2: the session of that envelope sends it. One that must not leave gives up its account nonce.
    if (unsent !== undefined && mayLeave(unsent.sessionId)) return WAITING;
    if (!(await mayBroadcast())) return WAITING;
    const fault = await rail.preflight(intent, intent.signature!);
    if (fault !== null) return { result: 'refused', reason: fault };
    const envelope = await this.#build(intent, await this.#place(unsent));
    return envelope === null ? REFUSED : this.#send(envelope, intent);
  }

  /** The lowest account nonce that is free. */
  async #place(unsent: StoredEnvelope | undefined): Promise<Place> {
    const railNonce = await this.#railNonce();
    const gap = await this.#gap(railNonce);
    if (gap !== null) return gap;
    if (unsent !== undefined) return { accountNonce: unsent.accountNonce, replaced: unsent, isForgotten: false };
    // A node that is behind says too little, a database that was brought back too.
    const accountNonce = Math.max(railNonce, this.#options.transfers.nextNonce(this.#sender!));
    return { accountNonce, replaced: null, isForgotten: false };
  }

  /** RELAYER-6. Null: the rail waits for no nonce, or for one whose session sends it. */
  async #gap(railNonce: number): Promise<Place | null> {
    const { rail, transfers, mayLeave } = this.#options;
    if (railNonce >= transfers.nextNonce(this.#sender!)) return null;
    const rows = transfers.withNonce(this.#sender!, railNonce);
    if (rows.some(({ state, sessionId }) => state !== 'dead' && mayLeave(sessionId))) return null;
    let isForgotten = true;
    for (const { txHash } of rows) {
      const transaction = await rail.transaction(txHash);
      // The node that was asked for the nonce is behind.
      if (transaction !== null && transaction.status !== 'pending') return null;
      if (transaction !== null) isForgotten = false;
    }
    const [dearest] = rows.sort((a, b) => b.fee - a.fee);
    return { accountNonce: railNonce, replaced: dearest ?? null, isForgotten };
  }

  async #railNonce(): Promise<number> {
    const { rail, clock } = this.#options;
    const railNonce = await rail.accountNonce();
    return clock.nowMs() < this.#passed.untilMs ? Math.max(railNonce, this.#passed.accountNonce) : railNonce;
  }

  #unsent(): StoredEnvelope | undefined {
    return this.#sender === null ? undefined : this.#options.transfers.unsent(this.#sender);
  }

  /** RELAYER-7. The bytes of an earlier key may still get into a block, which is the transfer all the same. */
  #last(sessionId: string): StoredEnvelope | undefined {
    const last = this.#options.transfers.envelopesOf(sessionId).at(-1);
    return last === undefined || last.sender === this.#sender ? last : { ...last, state: 'dead' };
  }

  /** RELAYER-1, and RELAYER-3 where there is one to replace. Null: it would have to offer more than it may. */
  async #build(intent: Intent, { accountNonce, replaced, isForgotten }: Place): Promise<StoredEnvelope | null> {
    const { rail, sessions, transfers, clock } = this.#options;
    const usual = await rail.fee();
    const least = replaced === null ? usual : (rail.bumpedFee(replaced.fee) ?? (isForgotten ? replaced.fee : null));
    if (least === null) return null;
    const { sessionId } = intent;
    const terms = { accountNonce, fee: Math.max(usual, least), replaced: replaced?.signed ?? null };
    const made = await rail.envelope({ ...terms, transfer: transferOf(intent), signature: intent.signature! });
    const { fee } = terms;
    const use = { sessionId, sender: this.#sender!, accountNonce, fee };
    const row = { ...made, ...use, state: 'built' as const, createdMs: clock.nowMs() };
    sessions.write(() => {
      if (replaced !== null) transfers.killNonce(this.#sender!, accountNonce);
      const last = this.#last(sessionId);
      if (last !== undefined) transfers.setEnvelope(last.txHash, 'dead');
      transfers.addEnvelope(row);
    });
    return { ...row, sequence: 0 };
  }

  async #send(envelope: StoredEnvelope, intent: Intent): Promise<Relayed> {
    const { rail, sessions } = this.#options;
    let sent = envelope;
    for (let bumps = 0; bumps <= MAX_BUMPS; bumps++) {
      await sessions.durable();
      // RELAYER-5: asked last, because the answer can change while bytes are made.
      const mayGo = this.#options.mayLeave(intent.sessionId) && (await this.#options.mayBroadcast());
      if (!mayGo) return WAITING;
      const result = await rail.broadcast(sent.signed);
      if (result === 'accepted') return this.#accepted(sent);
      if (result === 'nonce_too_low') return this.#passedOver(sent, intent);
      if (result === 'refused') return REFUSED;
      const place = { accountNonce: sent.accountNonce, replaced: sent, isForgotten: false };
      const dearer = await this.#build(intent, place);
      if (dearer === null) return REFUSED;
      sent = dearer;
    }
    return REFUSED;
  }

  /** A block has a transaction with this account nonce: our own most likely, and then everything is well. */
  async #passedOver(envelope: StoredEnvelope, intent: Intent): Promise<Relayed> {
    const { rail, sessions, transfers, clock } = this.#options;
    const authorization = await rail.authorization(intent.from, intent.nonce);
    if (authorization.state === 'used') return { result: 'accepted', txHash: authorization.txHash };
    for (const { txHash } of transfers.envelopesOf(intent.sessionId)) {
      if ((await rail.transaction(txHash)) !== null) return { result: 'accepted', txHash };
    }
    const { accountNonce } = envelope;
    this.#passed = { accountNonce: accountNonce + 1, untilMs: clock.nowMs() + PASSED_MS };
    sessions.write(() => transfers.killNonce(this.#sender!, accountNonce));
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
