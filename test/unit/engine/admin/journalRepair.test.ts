/** Findings of `journal verify` in a data directory, and the repairs of `journal repair`. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { AdminError, listShards, withExclusiveDirectory } from '../../../../engine/admin/directory.ts';
import { saveHeads, withKnownHeads } from '../../../../engine/admin/heads.ts';
import { type Findings, inspectShard } from '../../../../engine/admin/inspect.ts';
import { type Plan, planRepair } from '../../../../engine/admin/plan.ts';
import { carryOut } from '../../../../engine/admin/repair.ts';
import { currentState } from '../../../../engine/admin/replica.ts';
import { describeShards, isSound } from '../../../../engine/admin/verify.ts';
import { Journal } from '../../../../engine/journal/journal.ts';
import { JournalReader } from '../../../../engine/journal/reader.ts';
import { JournalError } from '../../../../engine/journal/row.ts';
import { recover } from '../../../../engine/shard/recovery.ts';
import { makeReplica, restore } from '../../../../engine/snapshot/replica.ts';
import { listSnapshots } from '../../../../engine/snapshot/snapshot.ts';
import { openHeads } from '../../../../shared/crypto/journalHeads.ts';
import { MASTER_KEY_FILE, readMasterKey } from '../../../../shared/crypto/masterKey.ts';
import { runAdminHere } from '../../../support/adminProgram.ts';
import { engineWith } from '../../../support/engine.ts';
import { damageSnapshot, flipByte, JournaledShard } from '../../../support/journaledShard.ts';
import { TEST_KEY } from '../../../support/journalKey.ts';

const TIME = '20270115T080000Z';

function shardOf(commands = 60): JournaledShard {
  const shard = new JournaledShard();
  shard.trade(commands);
  return shard;
}

function planFor(shard: JournaledShard): Plan {
  return planRepair(inspectShard(shard.file));
}

/** Repairs, and shows that a shard starts from the result. */
function repaired(shard: JournaledShard, plan: Plan): Findings {
  const findings = carryOut(plan, TIME);
  assert.ok(isSound(findings), findings.problem?.text);
  assert.equal(starts(shard), findings.last);
  return findings;
}

/** Starts like the thread of a shard. @returns the last recovered record. */
function starts({ file }: JournaledShard): number {
  const journal = Journal.open({ ...file, journalSync: 'normal', key: TEST_KEY });
  try {
    return recover(journal, file.directory, file.shard, () => engineWith(journal)).engine.sequence;
  } finally {
    journal.close();
  }
}

function digestOf({ file }: JournaledShard): Uint32Array {
  const [newest] = listSnapshots(file.directory, file.shard);
  const engine = makeReplica();
  restore(newest!, file, engine);
  const digest = new Uint32Array(2);
  engine.state.writeDigest(digest, 0);
  return digest;
}

describe('journal verify', () => {
  it('finds a directory sound, whatever moment its thread is at', () => {
    const shard = shardOf();
    assert.ok(isSound(inspectShard(shard.file)));
    shard.snapshot();
    shard.trade(30);
    const findings = inspectShard(shard.file);
    assert.equal(findings.checkedTo, shard.last);
    assert.deepEqual(
      findings.snapshots.map(({ damage }) => damage),
      [null],
    );
    shard.close();
    assert.ok(describeShards([inspectShard(shard.file)]).text.endsWith('\nok'));
  });

  it('leaves every file as it was', () => {
    const shard = shardOf();
    shard.snapshot();
    shard.close();
    const copy = join(shard.file.directory, 'copy');
    mkdirSync(copy);
    for (const name of ['journal-0.db', 'journal-0.mark']) {
      copyFileSync(join(shard.file.directory, name), join(copy, name));
    }
    inspectShard(shard.file);
    for (const name of ['journal-0.db', 'journal-0.mark']) {
      const [now, then] = [join(shard.file.directory, name), join(copy, name)];
      assert.ok(readFileSync(now).equals(readFileSync(then)), name);
    }
  });

  it('names the record that is damaged, missing or in the wrong place', () => {
    const changes = {
      'sequence 9: checksum mismatch': (shard: JournaledShard) => shard.damageRecord(9),
      'sequence 9: missing, the next record is 10': (shard: JournaledShard) =>
        shard.run('DELETE FROM journal WHERE sequence = 9'),
      'sequence 9: bytes of another row': (shard: JournaledShard) =>
        shard.run('UPDATE journal SET bytes = (SELECT bytes FROM journal WHERE sequence = 8) WHERE sequence = 9'),
    };
    for (const [reason, change] of Object.entries(changes)) {
      const shard = shardOf(30);
      shard.close();
      change(shard);
      const { problem, checkedTo } = inspectShard(shard.file);
      assert.deepEqual([problem?.kind, checkedTo], ['record', 8]);
      assert.ok(problem?.text.endsWith(reason), problem?.text);
    }
  });

  it('names a whole record of another history, which its predecessors do not lead to', () => {
    const shard = shardOf(40);
    const other = new JournaledShard(12);
    other.trade(40);
    for (const each of [shard, other]) each.close();
    shard.run(`ATTACH '${other.file.journalPath}' AS other;
      UPDATE journal SET bytes = (SELECT bytes FROM other.journal WHERE sequence = 30) WHERE sequence = 30`);
    const { problem, checkedTo } = inspectShard(shard.file);
    assert.match(problem!.text, /sequence 30: does not follow the row before it/);
    assert.equal(checkedTo, 29);
  });

  it('notices a journal that ends before its mark, one without a mark and one of another history', () => {
    const shard = shardOf();
    shard.close();
    const other = new JournaledShard(12);
    other.trade(80);
    other.close();
    copyFileSync(other.markPath, shard.markPath);
    const { last } = inspectShard(other.file);
    assert.ok(last > shard.last);
    assert.equal(inspectShard(shard.file).problem?.kind, 'end');
    copyFileSync(other.file.journalPath, shard.file.journalPath);
    assert.ok(isSound(inspectShard(shard.file)));
    shard.run(`DELETE FROM journal WHERE sequence = ${last}`);
    assert.match(inspectShard(shard.file).problem!.text, new RegExp(`sequence ${last}: missing, its mark says`));
    rmSync(shard.markPath);
    assert.equal(inspectShard(shard.file).problem?.kind, 'mark');
  });

  it('notices a snapshot that is damaged, and one of a history that is not the journal', () => {
    const shard = shardOf();
    const { path, sequence } = shard.snapshot();
    const other = new JournaledShard(13);
    other.trade(200);
    const foreign = other.rig.recovered();
    assert.ok(other.last > sequence && foreign.engine.sequence === other.last);
    damageSnapshot(path);
    const [finding] = inspectShard(shard.file).snapshots;
    assert.match(finding!.damage!, /checksum mismatch/);
    copyFileSync(other.snapshot().path, path);
    assert.match(inspectShard(shard.file).snapshots[0].damage!, /of another history/);
  });

  it('begins at the oldest snapshot where the journal was trimmed', () => {
    const shard = shardOf();
    const older = shard.snapshot().sequence;
    shard.trade(40);
    shard.snapshot();
    shard.trade(40);
    shard.trim(older - 5);
    const findings = inspectShard(shard.file);
    assert.ok(isSound(findings));
    assert.deepEqual([findings.first, findings.replayedFrom, findings.checkedTo], [older - 4, older, shard.last]);
    const { text } = describeShards([findings]);
    assert.match(text, new RegExp(` ${older - 4}-${shard.last} .* ${older + 1}-${shard.last} +ok\\n`), text);
    for (const { path } of shard.snapshots) damageSnapshot(path);
    assert.equal(inspectShard(shard.file).problem?.kind, 'base');
    assert.match(planFor(shard).hopeless!, /backup/);
  });

  it('tells a record that this program would carry out otherwise from a damaged one', () => {
    const shard = new JournaledShard();
    shard.rig.fund(1, 5);
    // A whole, well chained record whose command says one thing and whose events another.
    shard.rig.journal.rows.at(-1)!.command.words[8] = 6;
    shard.commit();
    const { problem, checkedTo } = inspectShard(shard.file);
    assert.deepEqual([problem?.kind, checkedTo], ['replay', shard.last - 1]);
    assert.match(planFor(shard).hopeless!, /version of this program/);
  });

  it('finds a flipped bit anywhere in the file, or it changes no record', () => {
    const shard = shardOf();
    shard.close();
    const { journalPath } = shard.file;
    const good = readFileSync(journalPath);
    const records = shard.records();
    for (let at = 1; at < good.length; at += Math.ceil(good.length / 60)) {
      flipByte(journalPath, at);
      if (isSound(inspectShard(shard.file))) assert.deepEqual(shard.records(), records, `byte ${at}`);
      writeFileSync(journalPath, good);
    }
  });

  it('lets go of a journal whose end was read, and of one whose middle cannot be', (t) => {
    const closed = t.mock.method(JournalReader.prototype, 'close').mock;
    const shard = shardOf();
    assert.equal(currentState(shard.file).head.sequence, shard.last);
    assert.equal(closed.callCount(), 1);
    shard.close();
    shard.damageRecord(20);
    assert.throws(() => currentState(shard.file), JournalError);
    assert.equal(closed.callCount(), 2);
  });

  it('says of a file that is no journal that nothing in it can be believed', () => {
    const shard = shardOf(5);
    shard.close();
    writeFileSync(shard.file.journalPath, Buffer.alloc(40_000, 7));
    assert.equal(inspectShard(shard.file).problem?.kind, 'unreadable');
    assert.match(planFor(shard).hopeless!, /backup/);
  });
});

describe('journal repair', () => {
  it('has nothing to do for a sound shard', () => {
    const { effects, needsConsent } = planFor(shardOf());
    assert.deepEqual([effects, needsConsent], [[], false]);
  });

  it('writes a damaged mark anew where the journal itself is whole', () => {
    const shard = shardOf();
    shard.close();
    const records = shard.records();
    flipByte(shard.markPath, 9);
    flipByte(shard.markPath, 521);
    assert.throws(() => starts(shard), /mark is missing or damaged/);
    const plan = planFor(shard);
    assert.equal(plan.needsConsent, false);
    const { mark } = repaired(shard, plan);
    assert.equal(mark?.sequence, shard.last);
    assert.deepEqual(shard.records(), records);
    assert.ok(existsSync(`${shard.markPath}.damaged-${TIME}`));
  });

  it('sets a damaged snapshot aside and keeps the good one', () => {
    const shard = shardOf();
    const good = shard.snapshot();
    shard.trade(20);
    const bad = shard.snapshot();
    shard.close();
    damageSnapshot(bad.path);
    const plan = planFor(shard);
    assert.deepEqual([plan.needsConsent, plan.setAside], [false, [bad]]);
    assert.equal(repaired(shard, plan).snapshots.length, 1);
    assert.deepEqual(shard.snapshots, [good]);
  });

  it('drops a damaged tail behind the mark, which nobody was told of', () => {
    const shard = shardOf();
    const told = shard.last;
    const mark = readFileSync(shard.markPath);
    shard.trade(20);
    shard.close();
    const records = shard.records().slice(0, told + 1);
    shard.damageRecord(told + 2);
    writeFileSync(shard.markPath, mark);
    const plan = planFor(shard);
    assert.equal(plan.needsConsent, false);
    assert.match(plan.effects[0], new RegExp(`records ${told + 2} to ${shard.last} are dropped`));
    assert.equal(repaired(shard, plan).last, told + 1);
    assert.deepEqual(shard.records(), records);
  });

  it('gives acknowledged records up only with the word of the operator, counts them and keeps a copy', () => {
    const shard = shardOf();
    shard.close();
    const records = shard.records();
    shard.damageRecord(20);
    const plan = planFor(shard);
    assert.equal(plan.needsConsent, true);
    assert.match(plan.effects[0], new RegExp(`^${shard.last - 19} acknowledged records .* 20 to ${shard.last}$`));
    assert.equal(repaired(shard, plan).last, 19);
    assert.deepEqual(shard.records(), records.slice(0, 19));
    const copy = new Database(`${shard.file.journalPath}.damaged-${TIME}`, { readonly: true });
    assert.equal(copy.prepare('SELECT count(*) FROM journal').pluck().get(), shard.last);
    copy.close();
  });

  it('gives up history instead of orders where a snapshot lies behind the damage', () => {
    const shard = shardOf();
    const { sequence } = shard.snapshot();
    shard.trade(30);
    shard.close();
    const records = shard.records();
    shard.damageRecord(20);
    const plan = planFor(shard);
    assert.equal(plan.needsConsent, true);
    assert.match(plan.effects.join('\n'), /no order and no balance is lost/);
    const findings = repaired(shard, plan);
    assert.deepEqual([findings.first, findings.last], [sequence + 1, shard.last]);
    assert.deepEqual(shard.records(), records.slice(sequence));
  });

  it('begins a journal after the snapshot where that is of the very last record', () => {
    const shard = shardOf();
    shard.snapshot();
    shard.close();
    shard.damageRecord(20);
    const state = digestOf(shard);
    const findings = repaired(shard, planFor(shard));
    assert.deepEqual([findings.first, findings.last], [shard.last + 1, shard.last + 1]);
    assert.deepEqual(digestOf(shard), state);
  });

  it('takes the state of a snapshot for the records before it that cannot be read, and what follows them', () => {
    const shard = shardOf();
    shard.snapshot();
    shard.trade(20);
    const late = shard.snapshot();
    const state = digestOf(shard);
    shard.close();
    shard.damageRecord(shard.last);
    const plan = planFor(shard);
    assert.deepEqual([plan.needsConsent, plan.keep?.base], [true, late]);
    assert.match(plan.effects[0], /^no order and no balance is lost/);
    assert.equal(repaired(shard, plan).last, shard.last + 1);
    assert.deepEqual(digestOf(shard), state);
  });

  it('does not take a snapshot of another history, whether the journal reaches it or not', () => {
    for (const commands of [30, 200]) {
      const shard = shardOf();
      const other = new JournaledShard(12);
      other.trade(commands);
      const foreign = other.snapshot();
      assert.equal(foreign.sequence > shard.last, commands === 200);
      shard.close();
      other.close();
      copyFileSync(foreign.path, join(shard.file.directory, basename(foreign.path)));
      shard.damageRecord(20);
      assert.deepEqual(planFor(shard).keep, { base: null, from: 1, to: 19 });
    }
  });

  it('takes a journal that ends before its mark as it is, and says how much is missing', () => {
    const shard = shardOf();
    shard.close();
    shard.run(`DELETE FROM journal WHERE sequence > ${shard.last - 3}`);
    const plan = planFor(shard);
    assert.equal(plan.needsConsent, true);
    assert.match(plan.effects[0], /^3 acknowledged records are given up/);
    assert.equal(repaired(shard, plan).last, shard.last - 3);
  });

  it('takes records of another history than the mark was written for only with the word of the operator', () => {
    const shard = shardOf();
    const other = new JournaledShard(12);
    other.trade(20);
    assert.ok(other.last < shard.last);
    for (const each of [shard, other]) each.close();
    copyFileSync(other.markPath, shard.markPath);
    const plan = planFor(shard);
    assert.deepEqual([plan.findings.problem?.kind, plan.needsConsent], ['foreign', true]);
    assert.match(plan.effects.join('\n'), /cannot be determined/);
    assert.equal(repaired(shard, plan).last, shard.last);
  });

  it('begins again with nothing where the first record is damaged', () => {
    const shard = shardOf(5);
    shard.close();
    shard.damageRecord(1);
    assert.equal(repaired(shard, planFor(shard)).last, 0);
  });

  it('can be begun again after it was cut short', () => {
    const shard = shardOf(10);
    shard.close();
    shard.damageRecord(12);
    for (const end of ['', '-wal']) writeFileSync(`${shard.file.journalPath}.part${end}`, Buffer.from('half'));
    assert.equal(repaired(shard, planFor(shard)).last, 11);
    assert.deepEqual(
      readdirSync(shard.file.directory).filter((name) => name.includes('.part')),
      [],
    );
  });
});

describe('a repair that ended between two names', () => {
  /** A repaired directory, and the files that the repair has replaced. */
  async function interrupted(): Promise<{
    shard: JournaledShard;
    give: (from: string, to: string) => void;
    last: number;
  }> {
    const shard = shardOf(20);
    shard.close();
    const control = new Database(join(shard.file.directory, 'control.db'));
    control.exec('CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT)');
    control.close();
    shard.damageRecord(12);
    writeFileSync(`${shard.file.journalPath}-wal`, 'of the old file');
    const { last } = carryOut(planFor(shard), TIME);
    const give = (from: string, to: string): void => {
      renameSync(`${shard.file.journalPath}${from}`, `${shard.file.journalPath}${to}`);
    };
    return { shard, give, last };
  }

  const ENDS: Readonly<Record<string, (give: (from: string, to: string) => void, markPath: string) => void>> = {
    'before the new mark has its name': () => undefined,
    'before the new journal has its name': (give) => give('', '.part'),
    'before the log of the old journal is beside it': (give) => {
      give('', '.part');
      give(`.damaged-${TIME}-wal`, '-wal');
    },
  };

  for (const [name, undo] of Object.entries(ENDS)) {
    it(`is finished by the next one: ${name}`, async () => {
      const { shard, give, last } = await interrupted();
      const { directory, journalPath } = shard.file;
      renameSync(shard.markPath, `${journalPath}.part.mark`);
      undo(give, shard.markPath);
      const ran = await runAdminHere(['journal', 'repair', '--data', directory], {});
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
      assert.match(ran.stdout, /journal-0\.db: an interrupted repair is finished\nnothing to repair\n/);
      assert.equal(starts(shard), last);
      assert.ok(existsSync(`${journalPath}.damaged-${TIME}`) && existsSync(`${journalPath}.damaged-${TIME}-wal`));
      const left = readdirSync(directory).filter((one) => one.includes('.part'));
      assert.deepEqual(left, []);
    });
  }
});

describe('a data directory', () => {
  it('is refused when a journal in between is missing, when there is none, and when it is not there', async () => {
    const shard = shardOf(1);
    shard.close();
    const { directory, journalPath } = shard.file;
    assert.equal((await listShards(directory)).length, 1);
    copyFileSync(journalPath, join(directory, 'journal-2.db'));
    await assert.rejects(listShards(directory), /journal-1.db is missing/);
    for (const name of readdirSync(directory)) if (name.startsWith('journal')) rmSync(join(directory, name));
    await assert.rejects(listShards(directory), AdminError);
    await assert.rejects(listShards(join(directory, 'nowhere')), /does not exist/);
  });

  it('accepts, where it is told to, that records are gone of which only control.db knows', async () => {
    const shard = shardOf();
    shard.close();
    const { directory } = shard.file;
    const control = new Database(join(directory, 'control.db'));
    control.exec('CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT)');
    saveHeads(control, [shard.file], [shard.file]);
    control.close();
    const admin = (...args: string[]) => runAdminHere(['journal', ...args, '--data', directory], {});
    assert.equal((await admin('verify')).status, 0);
    const { last } = shard;
    shard.run(`DELETE FROM journal WHERE sequence > ${last - 3}`);
    rmSync(shard.markPath);
    // It does not know any better than to write the mark for the records there are.
    assert.match(
      (await admin('repair')).stdout,
      new RegExp(`sequence ${last - 2}: missing, control\\.db says that ${last} was`),
    );
    assert.equal((await admin('verify')).status, 1);
    const refused = await admin('repair');
    assert.equal(refused.status, 1);
    assert.match(refused.stdout, new RegExp(`3 acknowledged records are given up: ${last - 2} to ${last}\n`));
    assert.equal((await admin('repair', '--accept-loss')).status, 0);
    assert.equal((await admin('verify')).status, 0);
    assert.equal((await withKnownHeads([shard.file]))[0]!.known!.sequence, last - 3);
  });

  it('that accepts a loss and is interrupted leaves no head in control.db that no journal has', async () => {
    const shard = shardOf();
    shard.close();
    const { directory, journalPath } = shard.file;
    let control = new Database(join(directory, 'control.db'));
    control.exec('CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT)');
    saveHeads(control, [shard.file], [shard.file]);
    const knownHead = () => {
      const [sealed] = control.prepare<[], string>('SELECT value FROM platform').pluck().all();
      return openHeads(readMasterKey(join(directory, MASTER_KEY_FILE))!, sealed!)[0]!;
    };
    assert.equal(knownHead().sequence, shard.last);
    shard.damageRecord(20);
    control.close();
    // Stands in the way of the new journal.
    mkdirSync(`${journalPath}.part`);
    const repair = async () => {
      return (await runAdminHere(['journal', 'repair', '--accept-loss', '--data', directory], {})).status;
    };
    assert.notEqual(await repair(), 0);
    rmSync(`${journalPath}.part`, { recursive: true });
    control = new Database(join(directory, 'control.db'));
    assert.equal(knownHead().sequence, 0);
    control.close();
    assert.equal(await repair(), 0);
    control = new Database(join(directory, 'control.db'));
    assert.equal(knownHead().sequence, 19);
    control.close();
  });

  it('is one repair at a time, and none beside a server', async () => {
    const { directory } = shardOf(1).file;
    const control = new Database(join(directory, 'control.db'));
    control.pragma('journal_mode = WAL');
    control.close();
    await withExclusiveDirectory(directory, () =>
      assert.rejects(
        withExclusiveDirectory(directory, () => assert.fail('not reached')),
        /is running/,
      ),
    );
    assert.equal(await withExclusiveDirectory(directory, () => 7), 7);
  });
});
