/** The verdict over an audit log (RULES.md 9.14); test/api/audit.test.ts asks for it on the command line. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Database from 'better-sqlite3';
import { AuditLogCheck } from '../../../../engine/admin/auditLog.ts';
import { withExclusiveDirectory } from '../../../../engine/admin/directory.ts';
import { chainLine, deriveAuditKey, NO_RECORDS } from '../../../../shared/crypto/auditChain.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

/** A log whose records contain text that a reader of lines might take for a line's end. */
function directoryWithLog(records: number): string {
  const directory = temporaryDirectory();
  const key = deriveAuditKey(Buffer.alloc(32, 1));
  let head = NO_RECORDS;
  let text = '';
  for (let i = 0; i < records; i++) {
    const next = chainLine(head, { event: 'start', note: 'a\n\r\u0085\u2028\u2029b' }, key);
    text += `${next.line}\n`;
    ({ head } = next);
  }
  writeFileSync(join(directory, 'audit.log'), text);
  return directory;
}

test('a record is one line, whatever its content', async () => {
  const check = await AuditLogCheck.of(directoryWithLog(20));
  let count = 0;
  for await (const _ of check.lines(1)) count++;
  assert.equal(count, 20);
  assert.deepEqual(check.report().isSound, true, check.report().lines.join('\n'));
});

test('the end of the log is compared with control.db; while the exchange runs a note says why not', async () => {
  const directory = directoryWithLog(3);
  const control = new Database(join(directory, 'control.db'));
  control.pragma('journal_mode = WAL');
  control.exec(`CREATE TABLE platform (key TEXT PRIMARY KEY, value TEXT);
    INSERT INTO platform VALUES ('audit_head', '{"sequence":4,"hash":"of a record that was cut off"}')`);
  control.close();
  const report = async () => {
    const check = await AuditLogCheck.of(directory);
    for await (const _ of check.lines(1));
    return check.report();
  };
  const note = 'the exchange is running: the end was not compared with control.db';
  const running = await withExclusiveDirectory(directory, report);
  assert.deepEqual([running.lines.includes(note), running.isSound], [true, true], running.lines.join('\n'));
  const stopped = await report();
  assert.deepEqual([stopped.lines.includes(note), stopped.isSound], [false, false]);
  assert.match(stopped.lines[0]!, /^record 4, which control\.db knows, is missing/);
});

test('a log that its reader did not read to the end is neither whole nor cut', async () => {
  const check = await AuditLogCheck.of(directoryWithLog(20));
  for await (const _ of check.lines(1)) break;
  const { lines, isSound } = check.report();
  assert.deepEqual([lines, isSound], [['the rest was not read: the chain was not checked'], false]);
});
