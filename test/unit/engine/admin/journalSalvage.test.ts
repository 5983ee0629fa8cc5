/** A journal whose file is damaged loses what cannot be read, and nothing else. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeGivenUp } from '../../../../engine/admin/givenUp.ts';
import { inspectShard } from '../../../../engine/admin/inspect.ts';
import { type Plan, planRepair } from '../../../../engine/admin/plan.ts';
import { carryOut } from '../../../../engine/admin/repair.ts';
import { isSound } from '../../../../engine/admin/verify.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { JournaledShard } from '../../../support/journaledShard.ts';

const TIME = '20270115T080000Z';
const PAGE_BYTES = 4096;

function shardOf(commands: number): JournaledShard {
  const shard = new JournaledShard(17, 4);
  shard.trade(commands);
  return shard;
}

/** The directory as it was, before each damage. */
function eachTime(shard: JournaledShard, damages: readonly ((path: string) => void)[], check: () => void): void {
  const { directory, journalPath } = shard.file;
  const copy = temporaryDirectory();
  cpSync(directory, copy, { recursive: true });
  for (const damage of damages) {
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
    for (const name of readdirSync(copy)) copyFileSync(join(copy, name), join(directory, name));
    damage(journalPath);
    check();
  }
}

function zeroPage(page: number): (path: string) => void {
  return (path) => {
    const bytes = readFileSync(path);
    bytes.fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
    writeFileSync(path, bytes);
  };
}

/** The sequence numbers in the file of given-up records. */
function givenUp({ file }: JournaledShard): number[] {
  const path = join(file.directory, `journal-0.given-up-${TIME}.jsonl`);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence);
}

test('with any page zeroed, each record that can be read is in the journal or in the file beside it', () => {
  const shard = shardOf(300);
  shard.close();
  const { last } = shard;
  const pages = statSync(shard.file.journalPath).size / PAGE_BYTES;
  assert.ok(pages > 10, `${pages} pages`);
  let mostLost = 0;
  eachTime(
    shard,
    Array.from({ length: pages }, (_, page) => zeroPage(page)),
    () => {
      const findings = inspectShard(shard.file);
      assert.notEqual(findings.problem, null);
      const plan = planRepair(findings);
      if (plan.hopeless !== null) {
        // The first rows are gone: nothing can go on, and all the others are written.
        assert.match(findings.problem!.text, /starts at [0-9]+, and no snapshot can be used$/);
        writeGivenUp(findings, plan.leaving, TIME);
        assert.equal(givenUp(shard).length, last - findings.first + 1);
        return;
      }
      const lost = unreadable(plan);
      const { last: kept, ...repaired } = carryOut(plan, TIME);
      assert.ok(isSound({ last: kept, ...repaired }), repaired.problem?.text);
      const aside = givenUp(shard);
      assert.equal(kept + aside.length + lost, last, `${kept} kept, ${aside.length} given up, ${lost} lost`);
      mostLost = Math.max(mostLost, lost);
    },
  );
  // A row of four records is about a kilobyte.
  assert.ok(mostLost > 0 && mostLost < 60, `at most ${mostLost} records were lost with one page of ${last}`);
});

/** The number in the words of the plan. */
function unreadable({ effects }: Plan): number {
  const line = effects.find((effect) => effect.includes('cannot be read'));
  if (line !== undefined) return Number(/of these ([0-9]+) cannot be read/.exec(line)![1]);
  const all = /([0-9]+) acknowledged records are given up/.exec(effects.join('\n'));
  return all === null ? 0 : Number(all[1]);
}

test('with a page above the rows zeroed, or the header, no record is lost and nobody is asked', () => {
  const shard = shardOf(200);
  shard.close();
  const records = shard.records();
  const bytes = readFileSync(shard.file.journalPath);
  const inner = Array.from({ length: bytes.length / PAGE_BYTES }, (_, page) => page).filter(
    (page) => page > 0 && bytes[page * PAGE_BYTES] === 5,
  );
  assert.ok(inner.length > 0, 'the table has pages above its rows');
  const header = (path: string): void => writeFileSync(path, Buffer.from(bytes).fill(0xff, 0, 100));
  eachTime(shard, [header, ...inner.map(zeroPage)], () => {
    const findings = inspectShard(shard.file);
    assert.deepEqual([findings.problem?.kind, findings.checkedTo], ['pages', shard.last]);
    const plan = planRepair(findings);
    assert.equal(plan.needsConsent, false);
    assert.ok(isSound(carryOut(plan, TIME)));
    assert.deepEqual(shard.records(), records);
  });
});

test('with the last rows lost, a snapshot of the very end serves: no order and no balance is lost', () => {
  const shard = shardOf(200);
  const snapshot = shard.snapshot();
  shard.close();
  const { size } = statSync(shard.file.journalPath);
  const damages = [3, 2, 1].map((pages) => (path: string) => truncateSync(path, size - pages * PAGE_BYTES));
  eachTime(shard, [zeroPage(size / PAGE_BYTES - 1), ...damages], () => {
    const plan = planRepair(inspectShard(shard.file));
    assert.deepEqual([plan.needsConsent, plan.keep?.base], [true, snapshot]);
    assert.match(plan.effects[0]!, /no order and no balance is lost/);
    const { last, first, ...repaired } = carryOut(plan, TIME);
    assert.ok(isSound({ last, first, ...repaired }), repaired.problem?.text);
    assert.deepEqual([first, last], [shard.last + 1, shard.last + 1]);
    const aside = givenUp(shard);
    assert.ok(aside.length > shard.last / 2, `${aside.length} of ${shard.last} are kept as lines`);
  });
});

test('a write-ahead log is read with the file, up to its last commit', () => {
  const shard = shardOf(200);
  const { last } = shard;
  const { journalPath } = shard.file;
  // The state after a killed process: the rows are only in the write-ahead log.
  for (const name of [journalPath, `${journalPath}-wal`]) copyFileSync(name, `${name}.kept`);
  shard.close();
  for (const name of [journalPath, `${journalPath}-wal`]) copyFileSync(`${name}.kept`, name);
  assert.ok(statSync(`${journalPath}-wal`).size > 10 * PAGE_BYTES);
  const wal = readFileSync(`${journalPath}-wal`);
  writeFileSync(journalPath, Buffer.alloc(statSync(journalPath).size, 0xff));
  const findings = inspectShard(shard.file);
  assert.equal(findings.checkedTo, last, findings.problem?.text);
  wal[wal.length - 100] ^= 1;
  writeFileSync(`${journalPath}-wal`, wal);
  const shorter = inspectShard(shard.file);
  assert.ok(shorter.checkedTo < last && shorter.checkedTo > last - 8, `${shorter.checkedTo} of ${last}`);
});
