/**
 * The interface of an adapter for a provider that exchanges bank money for USDC and back: the exchange uses providers
 * only through it. A provider may hang, be down, lose events, repeat and contradict itself; none of its answers moves
 * money.
 *
 * Invariants:
 *   PROVIDER-1  A call ends when its signal is aborted. It throws ProviderDown (gateway/http/providerCalls.ts) if the
 *               provider gave no valid answer, LaunchRefused if it refuses a launch, and nothing else.
 *   PROVIDER-2  Amounts are decimal strings, as the provider wrote them; they are compared exactly.
 *   PROVIDER-3  Launch URLs and what they hold are secrets: no message, log line or error repeats them.
 */
import type { StatedStatus } from '../../shared/api/fiatStatements.ts';

/** One transaction of a statement: USDC that the provider has sold or bought, and its money. */
export type StatedRow = {
  readonly transactionId: string;
  /** '' if the provider names no session. */
  readonly reference: string;
  readonly kind: FiatKind;
  readonly status: StatedStatus;
  /** As the provider wrote it. */
  readonly amount: string;
  readonly currency: string;
};

export type FiatKind = 'onramp' | 'offramp';

/** A person is about to be sent to the provider. */
export type LaunchRequest = {
  readonly sessionId: string;
  readonly kind: FiatKind;
  /** 32 random hex digits, the one name by which the provider knows the session. */
  readonly partnerReference: string;
  /** In lower case. */
  readonly walletAddress: string;
  /** Null if the person chooses at the provider. In `fiatCurrency` for an on-ramp, in USDC for an off-ramp. */
  readonly amount: string | null;
  /** ISO 4217. */
  readonly fiatCurrency: string;
  /** The payment method of an on-ramp or the cash-out method of an off-ramp; null: the person chooses there. */
  readonly paymentMethod: string | null;
  /** The address to which the provider sends the browser back. */
  readonly redirectUrl: string;
  /** As reported by the connection or a trusted proxy, never by the client. */
  readonly clientIp: string;
};

/** The fields of a launch that a provider may refuse, by the names that clients send. */
export type RefusedField = 'amount' | 'fiat_currency' | 'payment_method' | 'wallet_address';

/**
 * The provider has processed the request and refuses it; asked again, it would refuse again. Its words are not kept.
 */
export class LaunchRefused extends Error {
  override readonly name = 'LaunchRefused';
  /** Null if the provider does not name the field. */
  readonly field: RefusedField | null;

  constructor(field: RefusedField | null) {
    super('the provider refuses the launch');
    this.field = field;
  }
}

/**
 * The statuses by which providers refuse a person's request; other statuses mean that the exchange itself is refused.
 */
export function isRefusedLaunch(status: number): boolean {
  return status === 400 || status === 422;
}

export type Launch = {
  readonly launchUrl: string;
  /** After this the URL is invalid; another call mints a new one. */
  readonly expiresAtMs: number;
};

export type ProviderStatus = 'none' | 'created' | 'started' | 'success' | 'failed' | 'expired' | 'refunded';

export type ProviderAmount = { readonly value: string; readonly currency: string };

/** A provider's transaction, in words that all providers share. */
export type ProviderTransaction = {
  readonly transactionId: string;
  readonly status: ProviderStatus;
  /** In lower case: `usdc`, `polygon`. */
  readonly asset: string;
  readonly network: string;
  /** The USDC that an off-ramp has to send, or that an on-ramp sends; null while the provider has not fixed it. */
  readonly amount: ProviderAmount | null;
  /** In lower case: the address to which an off-ramp's USDC must go, or an on-ramp's goes. */
  readonly toAddress: string | null;
  readonly fromAddress: string | null;
  readonly txHash: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The time at which the provider stops waiting for an off-ramp's USDC; null if not stated. */
  readonly deadlineMs: number | null;
};

/** A hint that something has changed: only the session that it names matters. */
export type WebhookEvent = {
  /** Unique for the provider: a repeated delivery has the same. */
  readonly eventId: string;
  /** Null if the event names no session of ours. It is accepted and changes nothing. */
  readonly partnerReference: string | null;
};

/** By name in lower case. */
export type WebhookHeaders = Readonly<Record<string, string>>;

export type FiatProvider = {
  /** As paths, settings and records name it. */
  readonly name: string;
  /**
   * Its wallet on the ledger rail, in lower case: the only address there to which off-ramps go and from which on-ramps
   * come. Null if it works only on chains; then without a chain its off-ramps have no destination.
   */
  readonly ledgerAddress: string | null;
  /** Mints a launch URL; called again for the same session, it mints another. */
  createLaunch(request: LaunchRequest, signal: AbortSignal): Promise<Launch>;
  /** Every transaction of the reference, from all pages, newest first; none while the provider knows of none. */
  listTransactions(
    partnerReference: string,
    kind: FiatKind,
    signal: AbortSignal,
  ): Promise<readonly ProviderTransaction[]>;
  /**
   * The whole statement of the day in UTC that begins then. Absent where the provider has none to ask for: operators
   * send a file of it.
   */
  statement?(startMs: number, signal: AbortSignal): Promise<readonly StatedRow[]>;
  /** The event, if the provider has signed these bytes, at most five minutes ago. Never throws. */
  verifyWebhook(headers: WebhookHeaders, rawBody: Uint8Array, nowMs: number): WebhookEvent | null;
};

/** Settings of one provider, by the rest of their names: `FIAT_SANDBOX_URL` is `URL`. */
export type ProviderSettings = Readonly<Record<string, string>>;

/** Opens a provider, without a call to it. @returns the reason why the settings are refused, as a text. */
export type OpenProvider = (settings: ProviderSettings) => FiatProvider | string;
