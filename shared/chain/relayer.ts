/**
 * Sends signed transfers with a key that pays for them (RULES.md 16.21): the exchange's for cash-outs, and that of the
 * sandbox provider's wallet. A failure at any point leaves bytes that can be sent again, and no second transfer: the
 * token carries out a transfer once by (from, nonce). The exchange keeps the envelopes in control.db, the provider in
 * memory (envelopesInMemory.ts).
 * Owner: one thread of one process at a time (`mayBroadcast`).
 *
 *   preflight ──► row with account nonce, unsigned and signed bytes, durable ──► broadcast ──► accepted
 *                       ▲ same bytes again, whenever their result is unknown ┘
 *
 * Invariants:
 *   RELAYER-1  An account nonce and the bytes that use it are one row, which is durable before the bytes leave. This is
 *              checked at each attempt: in a cluster the log may not hold a row that an earlier attempt has written.
 *   RELAYER-2  No envelope gets a new account nonce while one waits that may not have left.
 *   RELAYER-3  A replacement has the same account nonce and a higher fee, and is a row of its own before it leaves.
 *              Only a transaction that the rail has forgotten may be replaced at the same fee, if that is the highest
 *              fee offered.
 *   RELAYER-4  `accepted` is written after the rail has said so.
 *   RELAYER-5  Nothing leaves while `mayBroadcast` says no: another process may be the writer.
 *   RELAYER-6  If the rail waits for an account nonce that no envelope uses any more, because its session must not send
 *              now or its bytes are dead, the next transfer gets it: without it the rail takes no later nonce.
 *   RELAYER-7  Account nonces belong to the signing key. Envelopes of an earlier key are no longer sent.
 *   RELAYER-8  Transfers take turns in the order in which they ask: a transfer that keeps asking is never passed over.
 */
import type { Clock } from '../base/clock.ts';
import { type TransferAuthorization, transferIn } from '../crypto/eip3009.ts';
import type {
  AuthorizationState,
  BroadcastResult,
  Envelope,
  EnvelopeFields,
  PreflightFault,
  RailTransaction,
} from '../wire/railQuestions.ts';

/** A signed transfer, under the name of what it is for. */
export type RelayedTransfer = TransferAuthorization & {
  readonly sessionId: string;
  /** Null until the owner has signed. */
  readonly signature: string | null;
};

export type StoredEnvelope = {
  readonly sequence: number;
  readonly sessionId: string;
  /** The signing key's address; '' on the ledger rail of an earlier version. Each key counts its own account nonces. */
  readonly sender: string;
  readonly accountNonce: number;
  readonly fee: number;
  readonly unsigned: string;
  readonly signed: string;
  readonly txHash: string;
  /** `built`: perhaps sent. `accepted`: the rail has it. `dead`: it is never sent again. */
  readonly state: 'built' | 'accepted' | 'dead';
  readonly createdMs: number;
};

/** The rows of envelopes. */
export type EnvelopeStore = {
  /** In the order in which they were made. */
  envelopesOf(sessionId: string): StoredEnvelope[];
  addEnvelope(envelope: Omit<StoredEnvelope, 'sequence'>): void;
  setEnvelope(txHash: string, state: StoredEnvelope['state']): void;
  /** Marks all envelopes with this account nonce as dead: none is sent again. */
  killNonce(sender: string, accountNonce: number): void;
  /** All that have ever used the account nonce. */
  withNonce(sender: string, accountNonce: number): StoredEnvelope[];
  /** One more than the highest account nonce: a dead envelope's nonce is used up, or another envelope has it. */
  nextNonce(sender: string): number;
  /** The envelope that must be accepted before a new one is made; undefined if there is none. */
  unsent(sender: string): StoredEnvelope | undefined;
};

/** A rail on which transfers travel in transactions of a key, with nonces and prices. */
export type RelayedRail = {
  /** Null if the transfer would succeed in the next block, as far as known. */
  preflight(transfer: TransferAuthorization, signature: string): Promise<PreflightFault | null>;
  /** Null if unknown; this does not mean that it will never be included. */
  transaction(txHash: string): Promise<RailTransaction | null>;
  authorization(from: string, nonce: string): Promise<AuthorizationState>;
  /** The relayer's key, as an address in lower case. */
  sender(): Promise<string>;
  /** Transactions of the relayer that are in blocks: the account nonce of the next one. */
  accountNonce(): Promise<number>;
  /** The price at which a transaction is taken soon. */
  fee(): Promise<number>;
  /** The least price at which a transaction replaces one with the same account nonce; null: no more is offered. */
  bumpedFee(fee: number): number | null;
  /** Signs with the relayer's key; sends nothing. */
  envelope(fields: EnvelopeFields): Promise<Envelope>;
  broadcast(signed: string): Promise<BroadcastResult>;
};

/** `waiting`: not now, ask again. `refused`: nothing has been sent, and a further call sends it again. */
export type Paid =
  | { readonly result: 'accepted'; readonly txHash: string }
  | { readonly result: 'waiting' }
  | { readonly result: 'refused'; readonly reason: string };

type RelayerOptions = {
  readonly rail: RelayedRail;
  readonly transfers: EnvelopeStore;
  readonly sessions: {
    write(statements: () => void): void;
    /** Resolves when everything written so far is durable. */
    durable(): Promise<unknown>;
  };
  readonly clock: Clock;
  /** True while this process may send. */
  readonly mayBroadcast: () => boolean | Promise<boolean>;
  /** False for a session whose transfer must not leave now. */
  readonly mayLeave: (sessionId: string) => boolean;
};

/** An account nonce, and the transaction that may be using it now. */
type Place = {
  readonly accountNonce: number;
  readonly replaced: StoredEnvelope | null;
  /** True if the rail does not know that transaction: a new one may have the same fee. */
  readonly isForgotten: boolean;
};

const WAITING: Paid = Object.freeze({ result: 'waiting' });
const REFUSED: Paid = Object.freeze({ result: 'refused', reason: 'rail' });
/** The most times that a fee is raised in one call. */
const MAX_BUMPS = 5;
/** A node that reports a nonce as used may count it only later. */
const PASSED_MS = 60_000;

export class Relayer {
  readonly #options: RelayerOptions;
  /** The number of turns that run or wait, and the end of the last one. */
  #turns = 0;
  #lastTurn: Promise<void> = Promise.resolve();
  /** Null until the rail has answered. */
  #sender: string | null = null;
  #passed = { accountNonce: 0, untilMs: 0 };

  constructor(options: RelayerOptions) {
    this.#options = options;
  }

  get state(): 'idle' | 'busy' | 'waiting' {
    if (this.#turns > 0) return 'busy';
    return this.#unsent() === undefined ? 'idle' : 'waiting';
  }

  transactionsOf(sessionId: string): StoredEnvelope[] {
    return this.#options.transfers.envelopesOf(sessionId);
  }

  /** Sends the transfer of a signed intent, or sends it again with the same bytes. */
  pay(intent: RelayedTransfer): Promise<Paid> {
    return this.#alone(async () => {
      const own = this.#last(intent.sessionId);
      if (own?.state === 'built') return this.#send(own, intent);
      if (own?.state === 'accepted') return { result: 'accepted', txHash: own.txHash };
      return this.#relayAnew(intent);
    });
  }

  /** For a transaction that waits too long for a block: sends the same bytes again, or others at a higher price. */
  hasten(intent: RelayedTransfer, isReplaced: boolean): Promise<Paid> {
    return this.#alone(async () => {
      const last = this.#last(intent.sessionId);
      if (last === undefined) return WAITING;
      // Another transaction has used its account nonce.
      if (last.state === 'dead') return this.#relayAnew(intent);
      const railNonce = await this.#railNonce();
      if (railNonce > last.accountNonce) return this.#passedOver(last, intent);
      // RELAYER-6: behind a nonce that nothing uses any more, the same bytes would wait for ever.
      const gap = await this.#gap(railNonce);
      if (gap === null && !isReplaced) return this.#send(last, intent);
      const place = gap ?? { accountNonce: last.accountNonce, replaced: last, isForgotten: false };
      return this.#send((await this.#build(intent, place)) ?? last, intent);
    });
  }

  /** A transaction was reverted: its bytes are worthless now. */
  async forget({ sessionId }: RelayedTransfer): Promise<void> {
    const { sessions, transfers } = this.#options;
    const last = this.#last(sessionId);
    if (last === undefined) return;
    sessions.write(() => transfers.setEnvelope(last.txHash, 'dead'));
    await sessions.durable();
  }

  /** RELAYER-8 */
  async #alone(work: () => Promise<Paid>): Promise<Paid> {
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

  async #relayAnew(intent: RelayedTransfer): Promise<Paid> {
    const { rail, mayLeave, mayBroadcast } = this.#options;
    const unsent = this.#unsent();
    // RELAYER-2: the session of that envelope sends it. If it must not leave, it gives up its account nonce.
    if (unsent !== undefined && mayLeave(unsent.sessionId)) return WAITING;
    if (!(await mayBroadcast())) return WAITING;
    const fault = await rail.preflight(intent, intent.signature!);
    if (fault !== null) return { result: 'refused', reason: fault };
    const envelope = await this.#build(intent, await this.#place(unsent));
    return envelope === null ? REFUSED : this.#send(envelope, intent);
  }

  /** Returns the lowest free account nonce. */
  async #place(unsent: StoredEnvelope | undefined): Promise<Place> {
    const railNonce = await this.#railNonce();
    const gap = await this.#gap(railNonce);
    if (gap !== null) return gap;
    if (unsent !== undefined) return { accountNonce: unsent.accountNonce, replaced: unsent, isForgotten: false };
    // A lagging node says too little, and so does a restored database.
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
      // The node that was asked for the nonce lags.
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

  /** RELAYER-7. Bytes of an earlier key may still get into a block, and then count as the transfer. */
  #last(sessionId: string): StoredEnvelope | undefined {
    const last = this.#options.transfers.envelopesOf(sessionId).at(-1);
    return last === undefined || last.sender === this.#sender ? last : { ...last, state: 'dead' };
  }

  /** RELAYER-1, and RELAYER-3 if there is a transaction to replace. Null: the fee would exceed the limit. */
  async #build(
    intent: RelayedTransfer,
    { accountNonce, replaced, isForgotten }: Place,
  ): Promise<StoredEnvelope | null> {
    const { rail, sessions, transfers, clock } = this.#options;
    const usual = await rail.fee();
    const least = replaced === null ? usual : (rail.bumpedFee(replaced.fee) ?? (isForgotten ? replaced.fee : null));
    if (least === null) return null;
    const { sessionId } = intent;
    const fee = Math.max(usual, least);
    const transaction = { accountNonce, fee, replaced: replaced?.signed ?? null };
    const made = await rail.envelope({ ...transaction, transfer: transferIn(intent), signature: intent.signature! });
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

  async #send(envelope: StoredEnvelope, intent: RelayedTransfer): Promise<Paid> {
    const { rail, sessions } = this.#options;
    let sent = envelope;
    for (let bumps = 0; bumps <= MAX_BUMPS; bumps++) {
      await sessions.durable();
      // RELAYER-5: checked last, because the answer can change while the bytes are made.
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

  /** A block has a transaction with this account nonce: most likely the exchange's own, and then all is well. */
  async #passedOver(envelope: StoredEnvelope, intent: RelayedTransfer): Promise<Paid> {
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
  async #accepted({ txHash }: StoredEnvelope): Promise<Paid> {
    const { sessions, transfers } = this.#options;
    sessions.write(() => transfers.setEnvelope(txHash, 'accepted'));
    await sessions.durable();
    return { result: 'accepted', txHash };
  }
}
