/**
 * The operator's second accounting (engine/admin/accounting.ts) beside a simulated shard: it reads every record of the
 * journal once it is committed, before anything may trim it, and has to agree with all of them. It counts the orders
 * whose signed amounts lie at the edges, so that a run can show that it had some.
 */
import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { Accounting } from '../../engine/admin/accounting.ts';
import { auditDirectory } from '../../engine/admin/audit.ts';
import { readBatch } from '../../engine/admin/replica.ts';
import type { JournalRecord } from '../../engine/journal/journalRecord.ts';
import { JournalReader } from '../../engine/journal/reader.ts';
import { JournalHead } from '../../engine/journal/row.ts';
import type { ShardKey } from '../../engine/journal/shardKey.ts';
import { OUTCOME, SIDE } from '../../shared/base/codes.ts';
import { decodeCommand } from '../../shared/wire/commands.ts';
import { TEST_KEY } from '../support/journalKey.ts';

export class AuditTrail {
  /** Audited records, and the orders among them by kind of signed amounts. */
  readonly counts = new Map<string, number>();
  readonly #accounting = new Accounting((difference) => assert.fail(`the audit differs: ${difference}`));
  readonly #head = new JournalHead(0, 0, 0);

  /** Reads every record up to the last one in the journal. */
  follow(journalPath: string): void {
    const reader = new JournalReader(journalPath, TEST_KEY);
    try {
      const { lastSequence } = reader.facts();
      assert.ok(lastSequence >= this.#head.sequence, 'the journal has all that the audit has read of it');
      while (this.#head.sequence < lastSequence) {
        readBatch(reader, this.#head, lastSequence, (record) => {
          this.#accounting.record(record);
          this.#count(record);
        });
      }
    } finally {
      reader.close();
    }
  }

  #count({ command: { words, word } }: JournalRecord): void {
    this.#add('records audited');
    const command = decodeCommand(words, word);
    if (command.name !== 'PLACE' && command.name !== 'REPLACE') return;
    const { kind, makerAmount, takerAmount, minTakerNet } = command;
    const { ticksPerUnit } = this.#accounting.market(command.market);
    const [usdc, tokens] = kind.side === SIDE.BUY ? [makerAmount, takerAmount] : [takerAmount, makerAmount];
    const exact = BigInt(usdc) * ticksPerUnit;
    const edges = {
      'bought at 1.00 or more': kind.side === SIDE.BUY && usdc >= tokens,
      'sold below one tick': kind.side === SIDE.SELL && exact < tokens,
      'between two ticks': exact % BigInt(tokens) !== 0n,
      'with tokens below a lot': BigInt(tokens) % ticksPerUnit !== 0n,
    };
    const found = Object.entries(edges).flatMap(([edge, isOne]) => (isOne ? [edge] : []));
    if (found.length === 0) return;
    for (const edge of found) this.#add(edge);
    this.#add(`off the grid at D ${ticksPerUnit} for ${kind.outcome === OUTCOME.YES ? 'Yes' : 'No'}`);
    if (command.name === 'REPLACE') this.#add('off the grid in place of another');
    if (minTakerNet > 0) this.#add('off the grid with a minimum net');
  }

  #add(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

/** The operator's command, of shards that have stopped: their journals are trimmed, so mostly from a snapshot on. */
export function assertBalanced(shards: readonly { readonly journalPath: string; readonly key?: ShardKey }[]): void {
  const files = shards.map(({ journalPath, key = TEST_KEY }, shard) => {
    return { shard, shards: shards.length, directory: dirname(journalPath), journalPath, key };
  });
  const { text, isBalanced } = auditDirectory(files, null);
  assert.ok(isBalanced, text);
}
