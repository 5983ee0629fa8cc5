/**
 * The actions of people on their sessions (RULES.md 16): create, go to the provider again, sign, relay again, cancel.
 * Every action is durable before it is answered, and a repeated one changes nothing.
 * Owner: the gateway thread.
 *
 *   1 session, partner reference ─► provider      2 intent ─► shown     3 signature ─► relay
 *   4 account nonce, bytes ─► broadcast           5 replacement ─► broadcast
 *   6 what the rail shows ─► state                7 event of a provider ─► processing
 *
 * Each step is durable before the step behind its arrow begins (4 and 5: shared/chain/relayer.ts, 6: settlement.ts,
 * 7: driver.ts).
 *
 * Invariants:
 *   FIAT-1  An account can act only on its own sessions; a session of another account is answered as missing.
 *   FIAT-2  A signature is stored once. From then on the session cannot be cancelled. The exchange never signs in place
 *           of the wallet.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../shared/base/clock.ts';
import { ERRORS } from '../../shared/base/errors.ts';
import type { Refusal } from '../base/refusal.ts';
import { ProviderDown } from '../http/providerCalls.ts';
import { type FiatChanges, isOver, transition } from './changes.ts';
import type { FiatDriver } from './driver.ts';
import type { FiatSession, FiatSessions } from './fiatSessionsStore.ts';
import type { FiatTransfers, Intent } from './fiatTransfersStore.ts';
import { canSubmitIn } from './machine.ts';
import { type FiatKind, type FiatProvider, LaunchRefused, type RefusedField } from './provider.ts';
import { CHAIN_DOWN, type Rail, RailDown } from './rail.ts';
import { canStillSign } from './settlement.ts';

type ServiceDeps = {
  readonly sessions: FiatSessions;
  readonly transfers: FiatTransfers;
  readonly providers: ReadonlyMap<string, FiatProvider>;
  readonly changes: FiatChanges;
  readonly driver: FiatDriver;
  readonly rail: Rail;
  readonly clock: Clock;
  /** The origin at which browsers reach the exchange. */
  readonly publicUrl: () => string;
};

export type NewFiatSession = {
  readonly account: number;
  readonly kind: FiatKind;
  readonly provider: string | null;
  readonly walletAddress: string;
  readonly amount: string | null;
  readonly fiatCurrency: string;
  readonly paymentMethod: string | null;
  readonly redirectPath: string | null;
  /** Null without the header. */
  readonly idempotencyKey: string | null;
  readonly fingerprint: string;
};

export type Launched = { readonly session: FiatSession; readonly launchUrl: string };

/** The page for cashing in and out: people return to it if a request names no other page. */
const RETURN_PATH = '/cash';
const WRONG_SIGNATURE: Refusal = {
  row: ERRORS.VALIDATION_ERROR,
  message: 'the signature is not that of the linked wallet',
  details: { field: 'signature', rule: 'of the linked wallet' },
};
const OTHER_INTENT = conflict('it is not the intent of this session');
const NOT_WAITING = conflict('the transfer does not wait for the wallet');
const NOT_SENT = conflict('the transfer is not sent in this state');
/** A session waits this long for its person to begin at the provider. */
const LAUNCH_WAIT_MS = 3_600_000;
const LAUNCH_TIMEOUT_MS = 8000;
const MAX_UNDER_WAY = 20;
const REFERENCE_BYTES = 16;
const PROVIDER_REFUSED = 'provider_refused';

export class FiatService {
  readonly #deps: ServiceDeps;

  constructor(deps: ServiceDeps) {
    this.#deps = deps;
  }

  /** Returns the session if it belongs to the account (FIAT-1). */
  find(account: number, id: string, kind: FiatKind | null): FiatSession | null {
    const session = this.#deps.sessions.find(id);
    return session?.account === account && (kind === null || session.kind === kind) ? session : null;
  }

  /** A repeated key is answered with the session that the first request made, and a new link to the provider. */
  async create(request: NewFiatSession, clientIp: string): Promise<Launched | Refusal> {
    const { sessions, providers } = this.#deps;
    const { account, idempotencyKey, fingerprint } = request;
    const known = idempotencyKey === null ? undefined : sessions.ofKey(account, idempotencyKey);
    if (known !== undefined) {
      if (known.fingerprint !== fingerprint) return { row: ERRORS.IDEMPOTENCY_KEY_PAYLOAD_MISMATCH };
      return this.launch(known, clientIp);
    }
    const name = request.provider ?? providers.keys().next().value;
    const provider = name === undefined ? undefined : providers.get(name);
    if (provider === undefined) {
      if (providers.size === 0) return { row: ERRORS.FIAT_UNAVAILABLE };
      const details = { field: 'provider', rule: 'enum', value: [...providers.keys()] };
      return { row: ERRORS.VALIDATION_ERROR, message: 'unknown provider', details };
    }
    const underWay = [...sessions.open()].filter((each) => each.account === account && !isOver(each.status));
    if (underWay.length >= MAX_UNDER_WAY) {
      return { row: ERRORS.CONFLICT, message: `an account has at most ${MAX_UNDER_WAY} sessions under way` };
    }
    const session = this.#insert(request, provider.name);
    // The first of the seven steps: the provider gets a reference that no crash can lose.
    await sessions.durable();
    return this.launch(session, clientIp);
  }

  /** Makes another link to the provider, for a session that can still use one. */
  async launch(session: FiatSession, clientIp: string): Promise<Launched | Refusal> {
    const { sessions, providers, transfers, changes, clock, driver, publicUrl } = this.#deps;
    if (session.failureCode === PROVIDER_REFUSED) return refusedLaunch(session, null);
    if (isOver(session.status)) return conflict('the session is over');
    if (transfers.intentOf(session.id) !== undefined || session.status === 'processing') {
      return conflict('the provider has fixed the transfer already');
    }
    const provider = providers.get(session.provider);
    if (provider === undefined) return { row: ERRORS.FIAT_UNAVAILABLE };
    try {
      const { launchUrl } = await provider.createLaunch(
        {
          sessionId: session.id,
          kind: session.kind,
          partnerReference: session.partnerReference,
          walletAddress: session.walletAddress,
          amount: session.requestedAmount,
          fiatCurrency: session.fiatCurrency,
          paymentMethod: session.paymentMethod,
          redirectUrl: publicUrl() + (session.redirectPath ?? RETURN_PATH),
          clientIp,
        },
        AbortSignal.timeout(LAUNCH_TIMEOUT_MS),
      );
      const patch = { expiresMs: clock.nowMs() + LAUNCH_WAIT_MS };
      if (
        !changes.status(session, 'awaiting_quote', 'launched', {}, { patch }) &&
        session.status === 'awaiting_quote'
      ) {
        changes.note(session, patch);
      }
      await sessions.durable();
      driver.watched(session);
      return { session, launchUrl };
    } catch (error) {
      if (error instanceof LaunchRefused) return this.#refused(session, error);
      if (!(error instanceof ProviderDown)) throw error;
      const details = { session_id: session.id };
      return { row: ERRORS.FIAT_UNAVAILABLE, message: 'the provider does not answer', details };
    }
  }

  /** A session ends if its first launch is refused; if an earlier launch succeeded, the session stays. */
  async #refused(session: FiatSession, { field }: LaunchRefused): Promise<Refusal> {
    const { sessions, changes } = this.#deps;
    if (session.status === 'initiated') {
      const patch = { status: 'failed', failureCode: PROVIDER_REFUSED } as const;
      const isOffRamp = changes.trigger(session, 'ended_unsigned', { field }, { patch });
      if (!isOffRamp) changes.status(session, 'failed', PROVIDER_REFUSED, { field }, { patch });
      await sessions.durable();
    }
    return refusedLaunch(session, field);
  }

  /** FIAT-2: the third of the seven steps. */
  async authorize(session: FiatSession, intentId: string, signature: string): Promise<Refusal | null> {
    const { sessions, transfers, changes, clock, driver } = this.#deps;
    const intent = transfers.intentOf(session.id);
    if (intent?.intentId !== intentId) return OTHER_INTENT;
    const repeated = repetition(intent, signature);
    if (repeated !== 'new') return this.#repeated(repeated);
    if (session.transferState !== 'waiting_for_wallet') return NOT_WAITING;
    if (!canStillSign(intent, clock.nowMs())) return conflict('there is too little time left');
    const fault = await this.#faultOf(intent, signature);
    if (fault !== null) return fault;
    // While the rail was asked, the same signature may have been stored, or the session may have ended.
    const since = repetition(transfers.intentOf(session.id)!, signature);
    if (since !== 'new') return this.#repeated(since);
    const isKept = changes.trigger(
      session,
      'authorized',
      { digest: intent.digest },
      {
        more: () => transfers.sign(session.id, signature, clock.nowMs()),
      },
    );
    if (!isKept) return NOT_WAITING;
    await sessions.durable();
    driver.advance(session);
    return null;
  }

  /** Null if the wallet has signed and has the USDC. While the chain does not answer, no signature is stored. */
  async #faultOf({ from, digest, valueMicro }: Intent, signature: string): Promise<Refusal | null> {
    const { rail } = this.#deps;
    try {
      const isSigned = await rail.isSignedBy(from, digest, signature);
      if (!isSigned) return WRONG_SIGNATURE;
      const balanceMicro = await rail.balanceMicro(from);
      if (balanceMicro >= valueMicro) return null;
      const details = { asset: 'USDC', required: String(valueMicro), available: String(balanceMicro) };
      return { row: ERRORS.INSUFFICIENT_BALANCE, details };
    } catch (error) {
      if (!(error instanceof RailDown)) throw error;
      return CHAIN_DOWN;
    }
  }

  /** The relay is tried again with the stored bytes; a sent transfer stays sent. */
  async submit(session: FiatSession, intentId: string): Promise<Refusal | null> {
    const { transfers, driver } = this.#deps;
    const intent = transfers.intentOf(session.id);
    if (intent?.intentId !== intentId) return OTHER_INTENT;
    if (intent.signature === null) return conflict('the wallet has not signed');
    const state = session.transferState!;
    if (state === 'expired' || state === 'provider_funding_reconciling') return NOT_SENT;
    if (state === 'recoverable_error' && !canSubmitIn(state, session.errorCause)) return NOT_SENT;
    driver.advance(session);
    return null;
  }

  async cancel(session: FiatSession): Promise<Refusal | null> {
    const { sessions, transfers, changes } = this.#deps;
    if (session.status === 'cancelled') return this.#repeated(null);
    if (transfers.intentOf(session.id)?.signature) return conflict('the wallet has signed the transfer');
    if (session.errorCause === 'provider_mismatched') changes.trigger(session, 'cause_gone', { cancelled: true });
    const patch = { status: 'cancelled', failureCode: 'cancelled' } as const;
    if (!changes.trigger(session, 'ended_unsigned', { cancelled: true }, { patch })) {
      return conflict('the session cannot be cancelled any more');
    }
    await sessions.durable();
    return null;
  }

  /** The change of the first request may not be durable yet, but the answer to its repeat says that it is. */
  async #repeated(answer: Refusal | null): Promise<Refusal | null> {
    await this.#deps.sessions.durable();
    return answer;
  }

  /** A hint: the provider is asked soon. It credits nothing. */
  complete(session: FiatSession): void {
    this.#deps.driver.hint(session);
  }

  /** True if an off-ramp of the wallet is under way: then the wallet has to stay linked. */
  needsWallet(walletAddress: string): boolean {
    return [...this.#deps.sessions.open()].some(
      (session) => session.walletAddress === walletAddress && session.kind === 'offramp' && !isOver(session.status),
    );
  }

  #insert(request: NewFiatSession, provider: string): FiatSession {
    const { sessions, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const isOffRamp = request.kind === 'offramp';
    const { amount, ...fields } = request;
    const session: FiatSession = {
      ...fields,
      provider,
      requestedAmount: amount,
      id: randomUUID(),
      partnerReference: randomBytes(REFERENCE_BYTES).toString('hex'),
      status: 'initiated',
      asset: 'usdc',
      network: 'polygon',
      amountValue: null,
      amountCurrency: null,
      providerTransactionId: null,
      providerStatus: 'none',
      toAddress: null,
      txHash: null,
      deadlineMs: null,
      failureCode: null,
      transferState: isOffRamp ? 'awaiting_provider' : null,
      heldState: null,
      errorCause: null,
      alarm: null,
      reportedHash: null,
      createdMs: nowMs,
      updatedMs: nowMs,
      expiresMs: nowMs + LAUNCH_WAIT_MS,
      isOpen: 1,
    };
    const steps = [transition('status', null, 'initiated', 'session_created', {}, nowMs)];
    if (isOffRamp) steps.push(transition('transfer', null, 'awaiting_provider', 'session_created', {}, nowMs));
    sessions.add(session, steps);
    return session;
  }
}

/** Returns null if the same signature is stored already, and a refusal if a different one is. */
function repetition({ signature: kept }: Intent, signature: string): 'new' | Refusal | null {
  if (kept === null) return 'new';
  return kept.toLowerCase() === signature.toLowerCase() ? null : conflict('another signature is kept already');
}

function refusedLaunch({ id, kind }: FiatSession, refused: RefusedField | null): Refusal {
  const field = refused === 'payment_method' && kind === 'offramp' ? 'cashout_method' : refused;
  const details = { rule: 'accepted by the provider', session_id: id, ...(field === null ? {} : { field }) };
  return { row: ERRORS.VALIDATION_ERROR, message: 'the provider refuses this request', details };
}

function conflict(message: string): Refusal {
  return { row: ERRORS.CONFLICT, message };
}
