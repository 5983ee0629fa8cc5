/** The choice of a chain (gateway/chain/settlementMode.ts, RULES.md 17.2). */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSettlementDb } from '../../../../engine/settlement/settlementDb.ts';
import { WorkRows } from '../../../../engine/settlement/work.ts';
import type { ChainConfig } from '../../../../gateway/base/chainSettings.ts';
import { ConfigError } from '../../../../gateway/base/config.ts';
import { openControlDatabase } from '../../../../gateway/base/database.ts';
import { Platform } from '../../../../gateway/base/platform.ts';
import { requireSettlementMode, SETTLEMENT_FILE } from '../../../../gateway/chain/settlementMode.ts';
import { RESTORED } from '../../../../shared/base/restored.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const dataDir = temporaryDirectory();
openSettlementDb(join(dataDir, SETTLEMENT_FILE)).close();
const WITH = { chain: {} as ChainConfig, dataDir };
const WITHOUT = { chain: null, dataDir };

function newPlatform(): Platform {
  return new Platform(openControlDatabase(join(temporaryDirectory(), 'control.db')));
}

test('a data directory settles on a chain from its first start on', () => {
  const platform = newPlatform();
  requireSettlementMode(WITH, platform);
  platform.setHasJournals();
  requireSettlementMode(WITH, platform);
  assert.throws(() => requireSettlementMode(WITHOUT, platform), {
    name: ConfigError.name,
    message: 'RPC_URL: this data directory settles on a chain, and cannot go on without one',
  });
});

test('it does not go on without settlement.db, which records what happened on the chain first', () => {
  const platform = newPlatform();
  const without = { ...WITH, dataDir: temporaryDirectory() };
  requireSettlementMode(without, platform);
  requireSettlementMode(without, platform);
  platform.setHasJournals();
  assert.throws(() => requireSettlementMode(without, platform), {
    name: ConfigError.name,
    message: /^settlement\.db is missing: put back its own, or an older one, .* chain adopt`$/,
  });
});

test('one that was restored to an earlier time does not start before `chain adopt` has looked at the chain', () => {
  const platform = newPlatform();
  requireSettlementMode(WITH, platform);
  const restored = { point: '20261128T120000.000Z', upToMs: 1_795_867_200_000, isChainAhead: true };
  platform.setPaused(true);
  platform.write(RESTORED, JSON.stringify(restored));
  assert.throws(() => requireSettlementMode(WITH, platform), { name: ConfigError.name, message: /chain adopt/ });
  platform.write(RESTORED, JSON.stringify({ ...restored, isChainAhead: false }));
  requireSettlementMode(WITH, platform);
  assert.equal(platform.restored?.point, restored.point);
  platform.setPaused(false);
  assert.equal(platform.restored, null);
});

test('or never', () => {
  const platform = newPlatform();
  requireSettlementMode(WITHOUT, platform);
  platform.setHasJournals();
  requireSettlementMode(WITHOUT, platform);
  assert.throws(() => requireSettlementMode(WITH, platform), {
    name: ConfigError.name,
    message: 'RPC_URL: this data directory was started without a chain; a chain needs a new one',
  });
});

test('a first start that came to no journal has chosen nothing that it traded with', () => {
  const platform = newPlatform();
  requireSettlementMode(WITHOUT, platform);
  requireSettlementMode(WITH, platform);
});

test('nor with one that is damaged where it has what the journals do not say', () => {
  const platform = newPlatform();
  const own = { ...WITH, dataDir: temporaryDirectory() };
  const path = join(own.dataDir, SETTLEMENT_FILE);
  const db = openSettlementDb(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const page = db.prepare<[], number>("SELECT rootpage FROM sqlite_master WHERE name = 'escrows'").pluck().get()!;
  db.close();
  requireSettlementMode(own, platform);
  platform.setHasJournals();
  requireSettlementMode(own, platform);
  const whole = readFileSync(path);
  for (const damaged of [
    Buffer.from(whole).fill(0, (page - 1) * 4096, page * 4096),
    whole.subarray(0, whole.length / 2),
    Buffer.from(whole).fill(7),
    Buffer.alloc(0),
  ]) {
    writeFileSync(path, damaged);
    assert.throws(() => requireSettlementMode(own, platform), {
      name: ConfigError.name,
      message: /^settlement\.db is damaged \(.+\): put back its own, or an older one, .* chain adopt`$/,
    });
  }
});

test('nor with one that is older than the journals, which do not say what the chain has done first', () => {
  const platform = newPlatform();
  const own = { ...WITH, dataDir: temporaryDirectory() };
  const path = join(own.dataDir, SETTLEMENT_FILE);
  const db = openSettlementDb(path);
  db.close();
  requireSettlementMode(own, platform);
  platform.setHasJournals();
  const older = readFileSync(path);
  const newer = openSettlementDb(path);
  const rows = new WorkRows(newer, () => 0);
  rows.nextMark();
  platform.write('settlement_mark', String(rows.nextMark()));
  rows.nextMark();
  newer.close();
  requireSettlementMode(own, platform);
  writeFileSync(path, older);
  assert.throws(() => requireSettlementMode(own, platform), {
    name: ConfigError.name,
    message: /^settlement\.db is older than these journals: put back the newest one, or .* chain adopt`$/,
  });
});
