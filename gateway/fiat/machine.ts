/**
 * The machine of an off-ramp's transfer: which state follows which, and why (RULES.md 16.10). It is one table without
 * clock, store or rail; the driver finds out what has happened and looks up the next state here.
 *
 * Invariants:
 *   MACHINE-1  An event that the table does not list changes nothing: late, repeated or contradictory events find no
 *              row.
 *   MACHINE-2  An error keeps the state before it, and `cause_gone` is the only way back there.
 */
import type { TransferState } from '../../shared/api/fiat.ts';

/** `held`: the state before the error. */
type Row = {
  readonly from: readonly (TransferState | 'none')[];
  readonly on: string;
  readonly to: TransferState | 'held';
  /** True if the person may open the wallet or request the relay again. */
  readonly canSubmit: boolean;
  /** An operator has to look. */
  readonly alarm?: true;
};

const FUNDED = ['confirmed', 'provider_processing'] as const;

/** RULES.md 16.10 has the same rows in words, in this order. */
export const TRANSFER_ROWS = [
  { from: ['none'], on: 'session_created', to: 'awaiting_provider', canSubmit: false },
  { from: ['awaiting_provider'], on: 'provider_locked', to: 'waiting_for_wallet', canSubmit: true },
  { from: ['awaiting_provider'], on: 'provider_mismatched', to: 'recoverable_error', canSubmit: false },
  { from: ['awaiting_provider', 'waiting_for_wallet'], on: 'ended_unsigned', to: 'expired', canSubmit: false },
  { from: ['waiting_for_wallet'], on: 'authorized', to: 'submission_pending', canSubmit: false },
  {
    from: ['waiting_for_wallet', 'submission_pending'],
    on: 'foreign_hash_reported',
    to: 'provider_funding_reconciling',
    canSubmit: false,
  },
  { from: ['submission_pending'], on: 'broadcast_accepted', to: 'submitted_on_chain', canSubmit: false },
  { from: ['submission_pending'], on: 'broadcast_refused', to: 'recoverable_error', canSubmit: true },
  { from: ['submitted_on_chain'], on: 'hash_replaced', to: 'submitted_on_chain', canSubmit: false },
  { from: ['submitted_on_chain'], on: 'reported_hash_is_ours', to: 'submitted_on_chain', canSubmit: false },
  {
    from: ['submitted_on_chain'],
    on: 'reported_hash_is_foreign',
    to: 'submitted_on_chain',
    canSubmit: false,
    alarm: true,
  },
  { from: ['submitted_on_chain'], on: 'transfer_final', to: 'confirmed', canSubmit: false },
  { from: ['submitted_on_chain'], on: 'reverted_in_time', to: 'recoverable_error', canSubmit: true },
  { from: ['submitted_on_chain', 'submission_pending'], on: 'time_is_over', to: 'expired', canSubmit: false },
  {
    from: ['submitted_on_chain', 'submission_pending'],
    on: 'authorization_cancelled',
    to: 'expired',
    canSubmit: false,
  },
  { from: ['confirmed'], on: 'finality_violated', to: 'submitted_on_chain', canSubmit: false, alarm: true },
  { from: ['confirmed'], on: 'provider_started', to: 'provider_processing', canSubmit: false },
  { from: FUNDED, on: 'provider_succeeded', to: 'complete', canSubmit: false },
  { from: FUNDED, on: 'provider_failed', to: 'recoverable_error', canSubmit: false, alarm: true },
  { from: ['provider_funding_reconciling'], on: 'funding_verified', to: 'confirmed', canSubmit: false },
  {
    from: ['provider_funding_reconciling'],
    on: 'hash_of_another_session',
    to: 'provider_funding_reconciling',
    canSubmit: false,
    alarm: true,
  },
  { from: ['provider_funding_reconciling'], on: 'unsigned_not_funded', to: 'waiting_for_wallet', canSubmit: true },
  { from: ['provider_funding_reconciling'], on: 'signed_not_funded', to: 'submission_pending', canSubmit: false },
  { from: ['recoverable_error'], on: 'cause_gone', to: 'held', canSubmit: false },
  { from: ['expired'], on: 'provider_succeeded', to: 'complete', canSubmit: false, alarm: true },
] as const satisfies readonly Row[];

export type Trigger = (typeof TRANSFER_ROWS)[number]['on'];

type Step = {
  readonly to: TransferState;
  readonly isAlarm: boolean;
};

/** The next step, or null if the trigger has no meaning in this state. @param held the state before an error */
export function stepOn(from: TransferState | 'none', on: Trigger, held: TransferState | null): Step | null {
  const rows: readonly Row[] = TRANSFER_ROWS;
  const row = rows.find((each) => each.on === on && each.from.includes(from));
  if (row === undefined) return null;
  if (row.to !== 'held') return { to: row.to, isAlarm: row.alarm === true };
  return held === null ? null : { to: held, isAlarm: false };
}

/** @param errorCause the trigger of the error, in `recoverable_error`; null in every other state. */
export function canSubmitIn(state: TransferState, errorCause: string | null): boolean {
  const rows: readonly Row[] = TRANSFER_ROWS;
  return rows.some(({ to, on, canSubmit }) => to === state && canSubmit && (errorCause === null || on === errorCause));
}
