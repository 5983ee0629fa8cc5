/** The texts about a transfer that a person sees, one for each state (RULES.md 16.14). */
import type { TransferState } from '../../shared/api/fiat.ts';

const MESSAGES: Readonly<Record<TransferState, string>> = {
  awaiting_provider: 'Waiting for the provider to fix amount and destination.',
  waiting_for_wallet: 'Sign the transfer with your wallet.',
  submission_pending: 'Your signature is stored. The transfer is being sent.',
  submitted_on_chain: 'The transfer is sent and waits for its confirmations.',
  provider_funding_reconciling: 'The provider reports a payment that is being verified. Do not send anything.',
  confirmed: 'The transfer is confirmed. Waiting for the provider to pay out.',
  provider_processing: 'The provider has your USDC and is paying out.',
  complete: 'The provider has paid out.',
  expired: 'The session has ended without a transfer. Start a new one.',
  recoverable_error: 'Something went wrong. Nothing is lost.',
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
  return (errorCause === null ? undefined : ERROR_MESSAGES[errorCause]) ?? MESSAGES[state];
}
