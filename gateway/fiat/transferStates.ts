/** The states of a transfer, and what each means to the session and to the person who sees it (RULES.md 16.10). */
import type { FiatStatus, TransferState } from '../../shared/api/fiat.ts';

type Stated = {
  /** The text that a person sees (RULES.md 16.14). */
  readonly message: string;
  /** The status of the session as a whole that follows from the state; null: it stays. */
  readonly status: FiatStatus | null;
  /** True if the rail may have news, so that the session is looked at. */
  readonly isLookedAt: boolean;
};

export const STATED: Readonly<Record<TransferState, Stated>> = {
  awaiting_provider: {
    message: 'Waiting for the provider to fix amount and destination.',
    status: null,
    isLookedAt: false,
  },
  waiting_for_wallet: {
    message: 'Sign the transfer with your wallet.',
    status: 'created',
    isLookedAt: false,
  },
  submission_pending: {
    message: 'Your signature is stored. The transfer is being sent.',
    status: 'processing',
    isLookedAt: true,
  },
  submitted_on_chain: {
    message: 'The transfer is sent and waits for its confirmations.',
    status: 'processing',
    isLookedAt: true,
  },
  provider_funding_reconciling: {
    message: 'The provider reports a payment that is being verified. Do not send anything.',
    status: 'processing',
    isLookedAt: true,
  },
  confirmed: {
    message: 'The transfer is confirmed. Waiting for the provider to pay out.',
    status: 'processing',
    isLookedAt: true,
  },
  provider_processing: {
    message: 'The provider has your USDC and is paying out.',
    status: 'processing',
    isLookedAt: false,
  },
  complete: {
    message: 'The provider has paid out.',
    status: 'completed',
    isLookedAt: false,
  },
  expired: {
    message: 'The session has ended without a transfer. Start a new one.',
    status: null,
    isLookedAt: false,
  },
  recoverable_error: {
    message: 'Something went wrong. Nothing is lost.',
    status: null,
    isLookedAt: true,
  },
};

const ERROR_MESSAGES: Readonly<Record<string, string>> = {
  provider_mismatched: 'The terms of the provider are not usable. Nothing was sent.',
  broadcast_refused: 'The transfer could not be sent. You can try again.',
  reverted_in_time: 'The transfer was not carried out. You can try again.',
  provider_failed: 'The provider has your USDC but did not pay out. Contact the provider.',
};

export const PENDING_MESSAGE = 'The provider has no transaction yet. It appears some time after you return from it.';

/** @param errorCause of `recoverable_error`. */
export function messageOf(state: TransferState, errorCause: string | null): string {
  return (errorCause === null ? undefined : ERROR_MESSAGES[errorCause]) ?? STATED[state].message;
}
