/**
 * The newest known rows of the journals, as control.db keeps them: sealed, so that a program without the master key
 * cannot cut rows off a journal unnoticed. This does not detect an older copy of the whole data directory.
 */
import type { KnownHead } from '../base/journalKey.ts';
import { openSecret, sealSecret } from './secretBox.ts';

/** The row of the table `platform` that has them. */
export const JOURNAL_HEADS = 'journal_heads';

export const NO_ROWS: KnownHead = { sequence: 0, chainLow: 0, chainHigh: 0 };

/** @param heads heads by shard. */
export function sealHeads(masterKey: Uint8Array, heads: readonly KnownHead[]): string {
  return sealSecret(masterKey, JOURNAL_HEADS, Buffer.from(JSON.stringify(heads))).toString('base64');
}

/** Throws if they were changed, or sealed under another master key. */
export function openHeads(masterKey: Uint8Array, sealed: string): readonly KnownHead[] {
  return JSON.parse(openSecret(masterKey, JOURNAL_HEADS, Buffer.from(sealed, 'base64')).toString());
}
