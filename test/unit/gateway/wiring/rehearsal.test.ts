/** The rehearsal of a start when something in it fails (RULES.md 10.25). */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Config, parseConfig } from '../../../../gateway/base/config.ts';
import { createLogger } from '../../../../gateway/base/log.ts';
import { Rehearsal } from '../../../../gateway/wiring/rehearsal.ts';
import { RehearsalAct } from '../../../../gateway/wiring/rehearsalAct.ts';
import { EVENT, EVENT_VERSION } from '../../../../shared/wire/events.ts';
import { RingProducer } from '../../../../shared/wire/ring.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const SHARDS = 1;
const SHORT_MS = 20;
const OPEN_FILES = '/proc/self/fd';

function configOf(dataDir: string, env: Record<string, string> = {}): Config {
  return parseConfig({ DATA_DIR: dataDir, DISK_RESERVE_MB: '0', ...env }, 2);
}

function open(dataDir: string, env: Record<string, string> = {}) {
  const logged: string[] = [];
  const log = createLogger('warn', { write: (line) => void logged.push(line) });
  return { logged, rehearsal: Rehearsal.prepare(configOf(dataDir, env), SHARDS, log, SHORT_MS) };
}

/** Includes files that are removed already: they take disk space until they are closed. */
function openFilesIn(directory: string): string[] {
  const files = readdirSync(OPEN_FILES).map((file) => {
    try {
      return readlinkSync(join(OPEN_FILES, file));
    } catch {
      // The descriptor of this very listing.
      return '';
    }
  });
  return files.filter((path) => path.startsWith(directory));
}

test('10.25: shards that do not come let the start go on in time, and no file is left', async () => {
  const dataDir = temporaryDirectory();
  const { rehearsal, logged } = open(dataDir);
  assert.ok(rehearsal !== null);
  await rehearsal.begin();
  let isEnded = false;
  await rehearsal.run(() => {
    isEnded = true;
  });
  assert.ok(isEnded, 'the threads of the shards go on');
  assert.equal(logged.length, 1);
  assert.match(logged[0], /the rehearsal was cut short/);
  await rehearsal.end(Promise.resolve());
  assert.deepEqual(readdirSync(dataDir), []);
});

test('10.25: of acts that were never played no file stays open', async (t) => {
  if (!existsSync(OPEN_FILES)) return t.skip('only Linux shows the open files of a process');
  const dataDir = temporaryDirectory();
  const { rehearsal } = open(dataDir);
  assert.ok(rehearsal !== null);
  assert.notDeepEqual(openFilesIn(dataDir), []);
  await rehearsal.begin();
  await rehearsal.run(() => {});
  await rehearsal.end(Promise.resolve());
  assert.deepEqual(openFilesIn(dataDir), []);
});

test('10.25: a start removes the rehearsal files of a killed process', async () => {
  const dataDir = temporaryDirectory();
  writeFileSync(join(dataDir, 'rehearsal'), 'left');
  const { rehearsal } = open(dataDir);
  assert.ok(rehearsal !== null);
  await rehearsal.run(() => {});
  await rehearsal.end(Promise.resolve());
  assert.equal(existsSync(join(dataDir, 'rehearsal')), false);
});

test('10.25: even a start without a rehearsal removes old rehearsal files', () => {
  const settings: Record<string, string>[] = [{ REHEARSE: 'off' }, { DISK_RESERVE_MB: '999999999' }];
  for (const env of settings) {
    const dataDir = temporaryDirectory();
    mkdirSync(join(dataDir, 'rehearsal'));
    assert.equal(open(dataDir, env).rehearsal, null);
    assert.deepEqual(readdirSync(dataDir), []);
  }
});

test('10.25: there is none where it cannot begin, on a disk with little room, and with REHEARSE=off', () => {
  const missing = open(join(temporaryDirectory(), 'missing'));
  assert.equal(missing.rehearsal, null);
  assert.match(missing.logged.join(''), /the rehearsal has failed/);
  assert.equal(open(temporaryDirectory(), { DISK_RESERVE_MB: '999999999' }).rehearsal, null);
  assert.equal(open(temporaryDirectory(), { REHEARSE: 'off' }).rehearsal, null);
});

test('10.25: shards that come while it is being closed begin nothing in it', async () => {
  const dataDir = temporaryDirectory();
  const config = configOf(dataDir);
  const act = new RehearsalAct(config, join(dataDir, 'rehearsal'), SHARDS, 1);
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const timersBefore = timers();
  const played = act.play();
  const left = act.leave();
  const { verifier, collateralCheck, maxOrdersEver } = config;
  const { eventRing } = act.shardOf({ shard: 0, shards: SHARDS, verifier, collateralCheck, maxOrdersEver });
  const events = new RingProducer(eventRing);
  const word = events.tryClaim(EVENT.READY.BYTES, 0);
  events.words[word + 1] = (EVENT_VERSION << 16) | EVENT.READY.TYPE;
  events.publish();
  assert.equal(await played, 0);
  await left;
  assert.equal(timers(), timersBefore, 'a timer that is left would keep the process and its server');
  await act.close();
});
