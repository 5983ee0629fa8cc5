/**
 * The rules of a shard can change, and its journal is replayed for ever: each record by the rules that were in force
 * when it was written. A RULES record brings the rules of a version into force; before the first one those of
 * RULES_BEFORE are. A shard writes it right before the first command that it runs as a leader, once every program that
 * may read the journal knows the version: on one machine after a start of the new program, in a cluster when all of
 * its members run it (RULES.md 18.15). Until then the records of the journal are those that the older program writes
 * and reads, so a way back is open; afterwards the older program refuses the journal in one line.
 *
 * CHANGES says where a replay branches by the age of a record, and by what it knows the age: by the rules in force, or,
 * for changes that are older than these, by the record itself. Nothing else in the engine depends on age.
 *
 * Invariants:
 *   RULES-1  The number in force only grows, by RULES records alone, and is part of snapshots and of the digest.
 *   RULES-2  A record is written in the layouts of the version that is in force (shared/wire/ages.ts). A live command
 *            has the values of absence in fields that are younger, whatever its sender has written there.
 */
import { assert } from '../../shared/base/assert.ts';
import { COMMAND, ORDER_NONCE_KEPT } from '../../shared/wire/commands.ts';
import { RECORD_VERSION } from '../../shared/wire/version.ts';

/** In force in a journal, or in a part of it, without a RULES record. */
export const RULES_BEFORE = 4;
/** The newest that this program knows. */
export const NEWEST_RULES: number = RECORD_VERSION;

type Change = {
  /** The version since which it is so. */
  readonly since: number;
  readonly changed: string;
  /** Of RULES.md. */
  readonly rule: string;
  /** The mark in a record by which a replay knows; null: the rules in force. */
  readonly mark: string | null;
};

export const CHANGES = {
  keptNonces: {
    since: 3,
    changed: 'open orders keep their nonce and maker for a floor; before, the nonce counts as 0, of any wallet',
    rule: '5.12',
    mark: 'ORDER_NONCE_KEPT in the flags of PLACE and REPLACE',
  },
  movementFees: {
    since: 4,
    changed: 'splits, merges and withdrawals may cost a fee; before, they cost none',
    rule: '17.50',
    mark: 'the fee above the movement in the flags of CONVERT and FUNDS: 0 is none',
  },
} as const satisfies Readonly<Record<string, Change>>;

/** keptNonces */
export function keepsNonce(flags: number): boolean {
  return (flags & ORDER_NONCE_KEPT) !== 0;
}

type WithRules = { readonly rules: number; useRules(rules: number): void };

/** Carries out a RULES record. */
export function useRules(state: WithRules, words: Uint32Array, word: number): void {
  const rules = words[word + COMMAND.RULES.rules];
  assert(rules > state.rules && rules <= NEWEST_RULES, 'RULES-1: the rules in force grow, to those that are known');
  state.useRules(rules);
}
