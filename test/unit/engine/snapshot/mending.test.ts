/** Damaged runs of hashes: what is made anew, from what, and what is left as it is. */
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { describe, it } from 'node:test';
import { inspectShard } from '../../../../engine/admin/inspect.ts';
import { planRepair } from '../../../../engine/admin/plan.ts';
import { carryOut } from '../../../../engine/admin/repair.ts';
import { describeShards, isSound } from '../../../../engine/admin/verify.ts';
import { UNREADABLE } from '../../../../engine/book/acceptedHashes.ts';
import { ENTRY_WORDS } from '../../../../engine/book/hashPart.ts';
import { accountIn, marketIn } from '../../../../engine/book/retention.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import type { JournalRecord } from '../../../../engine/journal/journalRecord.ts';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { RunAdoption } from '../../../../engine/snapshot/adoption.ts';
import { HashRun } from '../../../../engine/snapshot/hashRun.ts';
import { checkRuns, HashRuns } from '../../../../engine/snapshot/hashRuns.ts';
import { SnapshotMaker } from '../../../../engine/snapshot/maker.ts';
import { mendRuns } from '../../../../engine/snapshot/mending.ts';
import { SLICE_SHIFT } from '../../../../engine/snapshot/runFilter.ts';
import { runPath } from '../../../../engine/snapshot/runPages.ts';
import { listSnapshots, runsNamedIn } from '../../../../engine/snapshot/snapshot.ts';
import { mergeRuns, written } from '../../../../engine/snapshot/spilling.ts';
import { ANY_COMMAND, COMMAND } from '../../../../shared/wire/commands.ts';
import { Progress } from '../../../../shared/wire/progress.ts';
import { engineWith } from '../../../support/engine.ts';
import { flipByte, JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';
import { seededRandom } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const PAGE = 4096;
const SEED = seedOr(56);
const noPause = (): void => undefined;

/** A shard all of whose first orders are in runs, the accounts of all orders, and the names of the runs. */
function spilled() {
  const shard = new JournaledShard();
  shard.trade(250);
  const snapshot = shard.snapshot(true);
  const { directory } = shard.file;
  const place = { directory, shard: 0, mac: TEST_KEY.snapshots };
  const { hashes } = shard.rig.engine.state;
  const all: { hash: Uint32Array; account: number }[] = [];
  hashes.visit((words, word, account) => all.push({ hash: words.slice(word, word + 4), account }));
  return { shard, place, hashes, all, named: runsNamedIn(snapshot, 0, TEST_KEY.snapshots) };
}

type Spilled = ReturnType<typeof spilled>;

function mend({ shard, place, hashes, named }: Spilled) {
  const reader = new JournalReader(shard.file.journalPath, TEST_KEY);
  try {
    return mendRuns(place, named, { reader, retention: hashes.retention }, noPause);
  } finally {
    reader.close();
  }
}

/** A journal that was trimmed, and still has these orders. */
function readerOf(orders: readonly Uint32Array[]): JournalReader {
  const { PLACE } = COMMAND;
  const visitWhole = (_range: object, visit: (record: JournalRecord) => void): void => {
    for (const entry of orders) {
      const words = new Uint32Array(PLACE.WORDS);
      words[ANY_COMMAND.type] = PLACE.TYPE;
      words[ANY_COMMAND.account] = accountIn(entry[4]!);
      words[ANY_COMMAND.market] = marketIn(entry[4]!, entry[5]!);
      words.set(entry.subarray(0, 4), PLACE.hash);
      visit({ command: { words, word: 0 } } as JournalRecord);
    }
  };
  return { facts: () => ({ firstSequence: 2 }), visitWhole } as unknown as JournalReader;
}

/** Damages the first page of entries of every run. */
function damageAll({ place, named }: Spilled): void {
  for (const { id } of named.runs) flipByte(runPath(place, id), PAGE + 100);
}

function opened({ place }: Spilled, named: Spilled['named']): HashRuns {
  const runs = new HashRuns(place, named);
  assert.ok(runs.load(Number.MAX_SAFE_INTEGER));
  return runs;
}

/** Every order that was in runs is found, with its account. */
function assertAll({ all }: Spilled, find: (words: Uint32Array, word: number) => number): void {
  for (const { hash, account } of all) assert.equal(find(hash, 0), account);
}

describe('a damaged run of hashes', () => {
  it('is made anew from the journal, with every order that it had', () => {
    const one = spilled();
    damageAll(one);
    const mended = mend(one);
    assert.equal(mended.damages.length, one.named.runs.length);
    assert.deepEqual(mended.beyond, []);
    assert.equal(mended.named.through, one.named.through);
    const before = new Set(one.named.runs.map(({ id }) => id));
    assert.ok(mended.named.runs.every(({ id }) => !before.has(id)));
    checkRuns(one.place, mended.named.runs);
    const runs = opened(one, mended.named);
    assertAll(one, (words, word) => runs.accountOf(words, word));
    runs.close();
    one.shard.close();
  });

  it('stays as it is where the journal no longer has its orders, and is not merged with others', () => {
    const one = spilled();
    one.shard.trade(2);
    one.shard.trim(one.named.through);
    damageAll(one);
    const { damages, beyond, named } = mend(one);
    assert.equal(damages.length, one.named.runs.length);
    assert.deepEqual([named, beyond], [one.named, one.named.runs.map(({ id }) => id)]);
    const twice = { through: one.named.through, runs: one.named.runs.flatMap((run) => [run, run]) };
    const broken = new Set<string>();
    assert.deepEqual(mergeRuns(one.place, twice, one.hashes.retention, noPause, broken), twice);
    assert.equal(broken.size, one.named.runs.length);
    const runs = opened(one, named);
    for (const { hash, account } of one.all) assert.ok([account, UNREADABLE].includes(runs.accountOf(hash, 0)));
    runs.close();
    one.shard.close();
  });

  it('is not made anew where an order of another run only looks like one that the journal has no more', () => {
    const one = spilled();
    const { place } = one;
    const [first] = one.named.runs;
    const run = HashRun.open(place, first!);
    run.load(Number.MAX_SAFE_INTEGER);
    const lost = [...run.entries()].map(([words, entry]) => words.slice(entry, entry + ENTRY_WORDS));
    run.close();
    damageAll(one);
    const damaged = HashRun.open(place, first!);
    damaged.load(Number.MAX_SAFE_INTEGER);
    assert.equal([...damaged.intactEntries()].length, 0, 'all of the run is on one page');
    const missing = damaged.lostEntries(lost[0]!, 0).next().value;
    // The hash of another order that the filter takes for the missing one.
    const random = seededRandom(SEED);
    const other = lost[0]!.slice();
    for (let tries = 0; ; tries++) {
      assert.ok(tries < 5_000_000, 'the filter has few bits');
      for (let word = 0; word < 4; word++) other[word] = Math.floor(random() * 2 ** 32);
      other[0] = (first!.slice << SLICE_SHIFT) | (other[0]! & (2 ** SLICE_SHIFT - 1));
      if ([...damaged.lostEntries(other, 0)].includes(missing!)) break;
    }
    damaged.close();
    const ofOther = written(place, first!.slice, 1, (add) => add(other, 0))!;
    const named = { through: one.named.through, runs: [first!, ofOther] };
    const after = (orders: Uint32Array[]) =>
      mendRuns(place, named, { reader: readerOf(orders), retention: one.hashes.retention }, noPause);
    assert.deepEqual(after([...lost.slice(1), other]).beyond, [first!.id]);
    assert.deepEqual(after([...lost, other]).beyond, []);
    one.shard.close();
  });

  it('has its filter from its entries, if header or filter are damaged or the filter is cut off', () => {
    for (const harm of ['header', 'filter', 'cut off'] as const) {
      const one = spilled();
      for (const { id } of one.named.runs) {
        const path = runPath(one.place, id);
        if (harm === 'cut off') truncateSync(path, statSync(path).size - PAGE);
        else flipByte(path, harm === 'header' ? 20 : statSync(path).size - PAGE + 9);
      }
      const runs = opened(one, one.named);
      assertAll(one, (words, word) => runs.accountOf(words, word));
      assert.equal(runs.takeDamage().length, one.named.runs.length, harm);
      runs.close();
      const mended = mend(one);
      assert.deepEqual(mended.beyond, []);
      checkRuns(one.place, mended.named.runs);
      one.shard.close();
    }
  });

  it('is named by verify, and nothing is set aside that a trimmed journal needs; the file of a backup heals it', () => {
    const one = spilled();
    one.shard.trade(2);
    one.shard.trim(one.named.through);
    const path = runPath(one.place, one.named.runs[0]!.id);
    copyFileSync(path, `${path}.backup`);
    flipByte(path, PAGE + 100);
    one.shard.close();
    const findings = inspectShard(one.shard.file);
    const { text } = describeShards([findings]);
    assert.match(text, new RegExp(`problem: .*${path}: page 1 is damaged`));
    assert.match(text, /put the file back from a backup/);
    const plan = planRepair(findings);
    assert.deepEqual([plan.setAside, plan.keep, findings.checkedTo], [[], null, findings.last]);
    copyFileSync(`${path}.backup`, path);
    assert.ok(isSound(inspectShard(one.shard.file)));
  });

  it('is set aside with its snapshot where the whole journal is there, and a start makes all anew', () => {
    const one = spilled();
    flipByte(runPath(one.place, one.named.runs[0]!.id), PAGE + 100);
    one.shard.close();
    const plan = planRepair(inspectShard(one.shard.file));
    assert.deepEqual(plan.setAside, one.shard.snapshots);
    assert.ok(isSound(carryOut(plan, 'now')));
    const journal = Journal.open({ ...one.shard.file, journalSync: 'normal' });
    const { engine } = recover(journal, one.place.directory, 0, () => engineWith(journal));
    assertAll(one, (words, word) => engine.state.hashes.accountOf(words, word));
    journal.close();
  });

  it('is replaced by the next snapshot once its shard has met the damage, and the shard takes the new one', () => {
    const one = spilled();
    const { shard, place, hashes, all } = one;
    const memory = Progress.create(1);
    const progress = new Progress(memory);
    const news: object[] = [];
    const maker = new SnapshotMaker(
      {
        keys: [TEST_KEY],
        journalPaths: [shard.file.journalPath],
        directory: place.directory,
        progress: memory,
        everyRecords: 1_000_000,
        keepRecords: 1_000_000,
        hashesInMemory: 1_000_000,
      },
      noPause,
      (each) => news.push(each),
    );
    damageAll(one);
    hashes.replaceBy(opened(one, one.named));
    const unreadable = (): number => all.filter(({ hash }) => hashes.accountOf(hash, 0) === UNREADABLE).length;
    assert.ok(unreadable() > 0);
    shard.trade(1);
    progress.setCommitted(0, shard.last);
    maker.makeDue(false);
    assert.equal(listSnapshots(place.directory, 0).length, 1, 'none is due');
    for (const _ of hashes.spilled.takeDamage()) progress.noteDamage(0);
    maker.makeDue(false);
    assert.equal(listSnapshots(place.directory, 0).length, 2);
    assert.equal(news.length, 2 * one.named.runs.length, 'damage and remedy');
    const adoption = new RunAdoption({ directory: place.directory, shard: 0, key: TEST_KEY, hashes, most: 1_000_000 });
    for (let nowMs = 1000; unreadable() > 0; nowMs += 1000) {
      assert.ok(nowMs < 5000);
      adoption.step(shard.last, nowMs);
    }
    for (const { hash, account } of all) assert.equal(hashes.accountOf(hash, 0), account);
    const { runs } = runsNamedIn(listSnapshots(place.directory, 0)[0]!, 0, TEST_KEY.snapshots);
    checkRuns(place, runs);
    assert.equal(readdirSync(place.directory).filter((name) => name.endsWith('.run')).length, 2 * runs.length);
    assert.ok(readdirSync(place.directory).includes(`hashes-0-${one.named.runs[0]!.id}.run`), 'still named');
    adoption.close();
    shard.close();
  });
});
