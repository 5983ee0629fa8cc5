import assert from 'node:assert/strict';
import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLogger } from '../../../../gateway/base/log.ts';
import { type AuditFile, openAuditFile } from '../../../../gateway/operator/auditFile.ts';
import { AuditLog, type AuditLogOptions } from '../../../../gateway/operator/auditLog.ts';
import {
  type AuditHead,
  type AuditLine,
  deriveAuditKey,
  follows,
  NO_RECORDS,
  readLine,
} from '../../../../shared/crypto/auditChain.ts';
import { temporaryDirectory } from '../../../support/directory.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const KEY = deriveAuditKey(Buffer.alloc(32, 7));
const START_MS = 1_790_000_000_000;

/** A log in a directory of its own, whose head is noted as control.db would. */
class Rig {
  readonly path = join(temporaryDirectory(), 'audit.log');
  readonly clock = new ManualClock(START_MS);
  noted: AuditHead | null = null;
  /** Errors that the next appends fail with. */
  readonly failures: Error[] = [];

  open(): AuditLog {
    const options: AuditLogOptions = {
      path: this.path,
      key: KEY,
      clock: this.clock,
      log: createLogger('silent'),
      knownHead: {
        read: () => this.noted,
        write: (head) => {
          this.noted = head;
        },
      },
      open: (path) => {
        const opened = openAuditFile(path);
        return { ...opened, file: failing(opened.file, this.failures) };
      },
    };
    return new AuditLog(options);
  }

  /** Every record of the file; a chain that is broken fails the test. */
  records(): AuditLine[] {
    let head = NO_RECORDS;
    return this.lines().map((text) => {
      const line = readLine(text, KEY);
      assert.ok(line !== null && follows(line, head) && line.mac === 'valid', text);
      head = line;
      return line;
    });
  }

  events(): string[] {
    return this.records().map(({ event }) => event);
  }

  lines(): string[] {
    return readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
  }
}

/** A file whose appends fail as long as there are failures. */
function failing(file: AuditFile, failures: Error[]): AuditFile {
  return {
    get lengthBytes() {
      return file.lengthBytes;
    },
    append: (bytes) => {
      const failure = failures.shift();
      return failure === undefined ? file.append(bytes) : Promise.reject(failure);
    },
    lines: () => file.lines(),
    setAside: (lines) => file.setAside(lines),
    close: () => file.close(),
  };
}

function full(): Error {
  return Object.assign(new Error('no space left'), { code: 'ENOSPC' });
}

test('records are chained over restarts, and each is in the file when its append resolves', async () => {
  const rig = new Rig();
  const log = rig.open();
  for (let i = 0; i < 3; i++) {
    const { sequence } = await log.append({ event: 'change', i });
    assert.equal(rig.records().at(-1)!.sequence, sequence);
    await log.append({ event: 'result', of: sequence });
  }
  await log.stop();
  const again = rig.open();
  await again.append({ event: 'logins_refused' });
  await again.stop();
  const pairs = ['change', 'result', 'change', 'result', 'change', 'result'];
  assert.deepEqual(rig.events(), ['start', ...pairs, 'stop', 'start', 'logins_refused', 'stop']);
  assert.deepEqual(rig.noted, again.head);
});

test('records of one turn share a write, in their order', async () => {
  const rig = new Rig();
  const log = rig.open();
  const heads = await Promise.all(Array.from({ length: 50 }, (_, i) => log.append({ event: 'change', i })));
  assert.deepEqual(
    heads.map(({ sequence }) => sequence),
    heads.map((_, i) => i + 2),
  );
  await log.stop();
});

test('a record that a crash broke off is cut away, and a change without a result is named at a start', async () => {
  const rig = new Rig();
  const log = rig.open();
  const done = await log.append({ event: 'change' });
  const open = await log.append({ event: 'change' });
  await log.append({ event: 'result', of: done.sequence });
  appendFileSync(rig.path, '{"sequence":5,"time":"2026-');
  const again = rig.open();
  await again.append({ event: 'change' });
  const records = rig.records();
  assert.deepEqual(
    records.map(({ event }) => event),
    ['start', 'change', 'change', 'result', 'interrupted', 'start', 'change'],
  );
  assert.equal(records[4]!.fields['of'], open.sequence);
  const third = rig.open();
  await third.append({ event: 'change' });
  assert.deepEqual(rig.events().slice(-4), ['change', 'interrupted', 'start', 'change'], 'one is named once');
});

test('what cannot be written is not in the log, and leaves no gap in the numbers', async () => {
  const rig = new Rig();
  const log = rig.open();
  await log.append({ event: 'change', i: 1 });
  rig.failures.push(full());
  await assert.rejects(log.append({ event: 'change', i: 2 }), { code: 'ENOSPC' });
  assert.equal(log.isWritten, false);
  assert.equal((await log.append({ event: 'change', i: 3 })).sequence, 3);
  assert.ok(log.isWritten);
  assert.deepEqual(
    rig.records().map(({ fields }) => fields['i']),
    [undefined, 1, 3],
  );
});

test('the result of a change that was carried out is owed: it is written before anything later', async () => {
  const rig = new Rig();
  const log = rig.open();
  const { sequence } = await log.append({ event: 'change' });
  rig.failures.push(full(), full());
  await assert.rejects(log.append({ event: 'result', of: sequence }, true));
  await assert.rejects(log.append({ event: 'change' }), 'the disk is still full');
  await log.append({ event: 'change' });
  assert.deepEqual(rig.events(), ['start', 'change', 'result', 'change']);
});

test('owed records are written without a request once there is space', async () => {
  const rig = new Rig();
  const log = rig.open();
  await log.append({ event: 'change' });
  rig.failures.push(full());
  await assert.rejects(log.append({ event: 'result', of: 2 }, true));
  rig.clock.advance(2000);
  log.tick();
  await log.append({ event: 'change' });
  assert.deepEqual(rig.events(), ['start', 'change', 'result', 'change']);
});

test('control.db knows the first record of a log as well, before any other follows it (AUDITLOG-4)', async () => {
  const rig = new Rig();
  const log = rig.open();
  await eventually('the first record', async () => log.head.sequence === 1);
  log.tick();
  assert.deepEqual(rig.noted, log.head);
  await log.stop();
});

test('a log that was cut, emptied, replaced or removed goes on after the record that control.db knows', async () => {
  const damages: [string, (path: string) => void][] = [
    ['cut', (path) => truncateSync(path, readFileSync(path).indexOf('\n') + 1)],
    ['emptied', (path) => truncateSync(path, 0)],
    ['replaced', (path) => writeFileSync(path, 'not a record\n')],
    ['removed', (path) => rmSync(path)],
  ];
  for (const [what, damage] of damages) {
    const rig = new Rig();
    const log = rig.open();
    await log.append({ event: 'change' });
    await log.stop();
    damage(rig.path);
    const again = rig.open();
    await again.append({ event: 'change' });
    const gap = rig
      .lines()
      .map((text) => readLine(text, KEY))
      .find((line) => line?.event === 'gap');
    assert.equal(gap?.sequence, 4, what);
    assert.equal(gap.previous, gap.fields['expected_hash']);
  }
});

test('a log that was written anew from some record on fits by its hashes, and is found by its key', async () => {
  const rig = new Rig();
  const log = rig.open();
  await log.append({ event: 'change', amount: '1' });
  await log.stop();
  const forger = deriveAuditKey(Buffer.alloc(32, 8));
  const forged = { ...forger, id: KEY.id };
  const lines = rig.lines();
  const { chainLine } = await import('../../../../shared/crypto/auditChain.ts');
  const first = readLine(lines[0]!, KEY)!;
  const { line } = chainLine(first, { event: 'change', amount: '2' }, forged);
  assert.equal(readLine(line, KEY)?.mac, 'invalid');
  assert.equal(readLine(line, null)?.mac, 'unknown');
  assert.ok(follows(readLine(line, null)!, first));
});

test('the file is ahead of its records by spaces, which records overwrite and a stop keeps', async () => {
  const rig = new Rig();
  const log = rig.open();
  await log.append({ event: 'change' });
  const size = statSync(rig.path).size;
  assert.ok(size > 1_000_000 && rig.lines().length === 2);
  assert.match(readFileSync(rig.path, 'utf8').slice(log.lengthBytes), /^ +$/);
  const { length } = await log.append({ event: 'change', text: 'x'.repeat(1000) }).then(() => rig.lines().at(-1)!);
  assert.ok(length > 1000);
  assert.equal(statSync(rig.path).size, size);
  // A crash left the start of a record in the room.
  const fd = openSync(rig.path, 'r+');
  writeSync(fd, '{"sequence":4', log.lengthBytes);
  closeSync(fd);
  const again = rig.open();
  await again.append({ event: 'logins_refused' });
  await again.stop();
  assert.equal(statSync(rig.path).size, size);
  assert.match(readFileSync(rig.path, 'utf8').slice(again.lengthBytes), /^ +$/);
  assert.deepEqual(rig.events().slice(-3), ['start', 'logins_refused', 'stop']);
});
