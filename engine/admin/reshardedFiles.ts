/** The new journals of `reshard` (README.md): each a snapshot at the cut, and a RAISE as its first record. */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import { shardOfMarket } from '../../shared/base/sharding.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import type { RunName } from '../book/acceptedHashes.ts';
import type { Market } from '../book/market.ts';
import { marketIn } from '../book/retention.ts';
import { checkInvariants } from '../core/invariants.ts';
import { distribute, finishResharding } from '../core/resharding.ts';
import { ShardState } from '../core/state.ts';
import { Journal } from '../journal/journal.ts';
import { JournalReader } from '../journal/reader.ts';
import { JournalHead } from '../journal/row.ts';
import type { ShardKey } from '../journal/shardKey.ts';
import { NamedOnly } from '../snapshot/hashRuns.ts';
import { makeReplica, type Replica, restore } from '../snapshot/replica.ts';
import type { RunPlace } from '../snapshot/runPages.ts';
import { saveSnapshot } from '../snapshot/snapshot.ts';
import { divideRun, spillIfDue } from '../snapshot/spilling.ts';
import type { ShardFile } from './directory.ts';
import { stateAfter } from './replica.ts';
import type { OldEnd } from './reshardPlan.ts';

const NO_PAUSE = (): void => undefined;

/** The states at the ends of the old journals, with these ends. */
export function oldStates(files: readonly ShardFile[]): { readonly replicas: readonly Replica[]; ends: OldEnd[] } {
  const replicas = files.map((file) => {
    const reader = new JournalReader(file.journalPath, file.key);
    const { lastSequence } = reader.facts();
    reader.close();
    return stateAfter(file, lastSequence);
  });
  const ends = replicas.map(({ engine, head }, shard) => {
    const { sequence, chainLow, chainHigh } = head;
    return { shard, sequence, chainLow, chainHigh, digest: digestOf(engine.state) };
  });
  return { replicas, ends };
}

/** The head after which every new journal begins: its chain value stands for the ends of all old ones. */
export function baseOf(ends: readonly OldEnd[], shards: number): JournalHead {
  const base = Math.max(1, ...ends.map(({ sequence }) => sequence));
  const bytes = hash('sha256', JSON.stringify([shards, ends]), 'buffer');
  return new JournalHead(base, bytes.readInt32LE(0), bytes.readInt32LE(4));
}

/**
 * Divides the states of the old shards, with runs of hashes in `directory`.
 * @param setsOf the ids of the events of markets that are in a set, by the index of the market
 */
export async function divide(
  files: readonly ShardFile[],
  replicas: readonly Replica[],
  base: JournalHead,
  directory: string,
  keys: readonly ShardKey[],
  setsOf: ReadonlyMap<number, Uint8Array>,
): Promise<readonly ShardState[]> {
  const shards = keys.length;
  const from = replicas.map(({ engine }) => engine.state);
  const into = keys.map(() => new ShardState(new Balances(createBalances()), true));
  const nowMs = timeOf(replicas);
  let hasUnplaced = false;
  const shardOf = ({ index, uuid }: Market): number => {
    const event = setsOf.get(index);
    return shardOfMarket(event ?? new Uint8Array(uuid.buffer, uuid.byteOffset, uuid.byteLength), shards);
  };
  const placed = distribute({
    from,
    into,
    shardOf,
    nowMs,
    onUnplaced: (words, entry) => {
      hasUnplaced = true;
      for (const { hashes } of into) hashes.insertKept(words, entry);
    },
  });
  const hasRuns = from.some(({ hashes }) => hashes.spilled.named.runs.length > 0);
  if (hasUnplaced || hasRuns) {
    for (const [shard, { hashes }] of into.entries()) {
      const to: RunPlace = { directory, shard, mac: keys[shard].snapshots };
      if (hashes.size > 0) spillIfDue(to, hashes, base.sequence, 0, NO_PAUSE);
      const isOwn = (words: Uint32Array, entry: number): boolean => {
        const market = placed.get(marketIn(words[entry + 4], words[entry + 5]));
        return market === undefined || market === shard;
      };
      const divided = files.flatMap((file, old): RunName[] => {
        const own: RunPlace = { directory: file.directory, shard: file.shard, mac: file.key.snapshots };
        return from[old].hashes.spilled.named.runs.flatMap((name) => divideRun(own, name, to, isOwn) ?? []);
      });
      const runs = [...divided, ...hashes.spilled.named.runs];
      hashes.replaceBy(new NamedOnly({ through: base.sequence, runs }));
    }
  }
  finishResharding({ from, into });
  for (const state of into) checkInvariants(state);
  return into;
}

/** @returns the ends of the new journals */
export function writeJournals(
  states: readonly ShardState[],
  base: JournalHead,
  timeMs: number,
  floor: number,
  directory: string,
  keys: readonly ShardKey[],
): JournalHead[] {
  return states.map((state, shard) => {
    const key = keys[shard];
    const snapshot = saveSnapshot(directory, shard, { head: base, nowMs: timeMs, state }, key);
    const journalPath = join(directory, `journal-${shard}.db`);
    const options = { journalPath, shard, shards: states.length, journalSync: 'full', key } as const;
    const journal = Journal.open(options, base);
    try {
      const engine = makeReplica(journal);
      restore(snapshot, { directory, shard, key }, engine);
      engine.raise(floor);
      journal.commit();
      checkInvariants(engine.state);
      return journal.head.copy();
    } finally {
      journal.close();
    }
  });
}

/** RESHARD-1, of the money: computed from the states alone, by account. */
export function requireSameMoney(from: readonly ShardState[], into: readonly ShardState[]): void {
  const accounts = Math.max(...[...from, ...into].map(({ ledger }) => ledger.accountCapacity));
  for (let account = 0; account < accounts; account++) {
    const [before, after] = [from, into].map((states) => {
      let [net, reserved] = [0n, 0n];
      for (const { ledger } of states) {
        net += BigInt(ledger.netMicro[account] ?? 0);
        reserved += BigInt(ledger.reservedMicro[account] ?? 0);
      }
      return `${net} ${reserved}`;
    });
    assert(before === after, 'RESHARD-1: an account has what it had');
  }
  const [before, after] = [from, into].map((states) => {
    let [open, tokens, collateral, deposited, withdrawn, accepted] = [0, 0n, 0n, 0n, 0n, 0];
    for (const { digest, ledger, markets, orders, totals } of states) {
      open += orders.openCount;
      accepted += digest.accepted.count;
      const { available, count, reserved } = ledger.positions;
      for (let cell = 0; cell < count * 2; cell++) tokens += BigInt(available[cell]) + BigInt(reserved[cell]);
      for (const market of markets.all()) collateral += BigInt(market.collateralMicro);
      for (const set of markets.sets.all()) collateral += BigInt(set.excessMicro);
      deposited += BigInt(totals.depositedMicro);
      withdrawn += BigInt(totals.withdrawnMicro);
    }
    return [open, tokens, collateral, deposited, withdrawn, accepted].join(' ');
  });
  assert(before === after, 'RESHARD-1: the shards together have what they had');
}

export function timeOf(replicas: readonly Replica[]): number {
  return Math.max(...replicas.map(({ engine }) => engine.nowMs));
}

function digestOf(state: ShardState): number[] {
  const lanes = new Uint32Array(2);
  state.writeDigest(lanes, 0);
  return [...lanes];
}
