/**
 * The folder of backups: parts named by their content, points, and the effects of a second command and of a damaged
 * disk.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { decodePoint, encodePoint, POINT_VERSION, type Point } from '../../../../engine/backup/point.ts';
import { outdated } from '../../../../engine/backup/retention.ts';
import { BackupError, BackupStore } from '../../../../engine/backup/store.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const DAY_MS = 86_400_000;
let folders = 0;
const root = temporaryDirectory();
const newFolder = (): string => join(root, `store-${folders++}`);

function pointOf(store: BackupStore, name: string, contents: readonly string[]): Point {
  const parts = contents.map((text) => store.put(Buffer.from(text)));
  const files = [{ name: 'control.db', bytes: contents.join('').length, parts }];
  return { version: POINT_VERSION, name, takenMs: 1, wasRunning: true, shards: 1, leftOut: [], files, journals: [] };
}

const NAMES = ['20261128T120000.000Z', '20261128T130000.000Z'] as const;

describe('a folder of backups', () => {
  test('has a part once, however many points name it', () => {
    const store = BackupStore.open(newFolder());
    store.addPoint(pointOf(store, NAMES[0], ['one', 'two']));
    store.addPoint(pointOf(store, NAMES[1], ['one', 'three', 'one']));
    assert.equal(store.newBytes, 'onetwothree'.length);
    assert.deepEqual(store.pointNames(), NAMES);
    const { files } = store.point(NAMES[1]);
    assert.equal(files[0]!.parts.map((part) => store.part(part).toString()).join(), 'one,three,one');
    store.close();
  });

  test('goes on with the parts of a command that was killed before its point', () => {
    const folder = newFolder();
    const killed = BackupStore.open(folder);
    killed.put(Buffer.from('durable'));
    killed.flush();
    killed.put(Buffer.from('on its way'));
    killed.close();
    const next = BackupStore.open(folder);
    assert.deepEqual(readdirSync(join(folder, 'new')), []);
    next.put(Buffer.from('durable'));
    assert.equal(next.newBytes, 0);
    next.put(Buffer.from('on its way'));
    assert.equal(next.newBytes, 'on its way'.length);
    next.close();
  });

  test('is of one command at a time', () => {
    const folder = newFolder();
    const first = BackupStore.open(folder);
    assert.throws(() => BackupStore.open(folder), /another command works on/);
    first.close();
    BackupStore.open(folder).close();
  });

  test('with other files is refused, and left as it is', () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'notes.txt'), 'mine');
    assert.throws(() => BackupStore.open(folder), /holds other files \(notes\.txt\)/);
    assert.deepEqual(readdirSync(folder), ['notes.txt']);
    assert.throws(() => BackupStore.read(folder), /holds no backups/);
  });

  test('refuses a part and a point that were changed', () => {
    const folder = newFolder();
    const store = BackupStore.open(folder);
    const point = pointOf(store, NAMES[0], ['one']);
    store.addPoint(point);
    const part = point.files[0]!.parts[0]!;
    writeFileSync(join(folder, 'objects', part.slice(0, 2), part), 'two');
    assert.throws(() => store.part(part), BackupError);
    const path = join(folder, 'points', `${NAMES[0]}.json`);
    writeFileSync(path, readFileSync(path, 'utf8').replace('control.db', 'kontrol.db'));
    assert.throws(() => store.point(NAMES[0]), /is damaged/);
    assert.equal(store.newest(), null);
    assert.equal(decodePoint(encodePoint(point).slice(0, -5)), null);
    assert.throws(() => store.point(NAMES[1]), /has no point/);
    store.close();
  });

  test('loses with a point the parts that no other one names', () => {
    const folder = newFolder();
    const store = BackupStore.open(folder);
    store.addPoint(pointOf(store, NAMES[0], ['shared', 'old']));
    const newest = pointOf(store, NAMES[1], ['shared', 'new']);
    store.addPoint(newest);
    assert.equal(store.remove([NAMES[0]]), 'old'.length);
    assert.deepEqual(store.pointNames(), [NAMES[1]]);
    for (const part of newest.files[0]!.parts) assert.ok(existsSync(join(folder, 'objects', part.slice(0, 2), part)));
    store.close();
  });

  test('removes no part while a damaged point may name it, also one that was set aside', () => {
    const folder = newFolder();
    const store = BackupStore.open(folder);
    const [old, damaged] = [pointOf(store, NAMES[0], ['old']), pointOf(store, NAMES[1], ['of damage'])];
    for (const point of [old, damaged]) store.addPoint(point);
    const path = join(folder, 'points', `${NAMES[1]}.json`);
    writeFileSync(path, 'damaged');
    assert.equal(store.remove([NAMES[0]]), null);
    assert.equal(store.setPointAside(NAMES[1]), `${path}.damaged`);
    assert.equal(store.remove([]), null);
    for (const part of [old, damaged].flatMap(({ files }) => files[0]!.parts)) assert.ok(store.has(part));
    rmSync(`${path}.damaged`);
    assert.equal(store.remove([]), 'oldof damage'.length);
    store.close();
  });
});

describe('points that stay', () => {
  const nowMs = Date.UTC(2026, 10, 28, 12);
  const at = (takenMs: number) => ({ name: String(takenMs), takenMs });

  test('are all of a day, and of hourly ones over two years 7 days, 4 weeks and 12 months', () => {
    const hours = Array.from({ length: 730 * 24 }, (_, hour) => at(nowMs - hour * 3_600_000));
    const gone = new Set(outdated(hours, nowMs));
    const kept = hours.filter(({ name }) => !gone.has(name)).map(({ takenMs }) => takenMs);
    const older = kept.filter((ms) => nowMs - ms >= DAY_MS);
    assert.equal(kept.length - older.length, 24);
    const days = new Set(kept.map((ms) => new Date(ms).toISOString().slice(0, 10)));
    for (let day = 0; day < 7; day++) assert.ok(days.has(new Date(nowMs - day * DAY_MS).toISOString().slice(0, 10)));
    // 2026-11-22, -15, -08: the last hours of Sundays, of weeks before the present one.
    for (const sunday of ['2026-11-22', '2026-11-15', '2026-11-08']) assert.ok(days.has(sunday), sunday);
    assert.ok(!days.has('2026-11-01'));
    const months = new Set(kept.map((ms) => new Date(ms).toISOString().slice(0, 7)));
    assert.equal(months.size, 12);
    assert.ok(months.has('2025-12') && !months.has('2025-11'));
    assert.ok(kept.length <= 24 + 7 + 4 + 12, `${kept.length} stay`);
  });

  test('are the newest of those that there are, after a long pause', () => {
    const old = [400, 500, 900].map((days) => at(nowMs - days * DAY_MS));
    assert.deepEqual(outdated(old, nowMs), []);
    assert.deepEqual(outdated([at(nowMs - 400 * DAY_MS), at(nowMs - 400 * DAY_MS + 5)], nowMs), [
      String(nowMs - 400 * DAY_MS),
    ]);
    assert.deepEqual(outdated([], nowMs), []);
  });
});
