/** The choice of a chain (gateway/store/settlementMode.ts, RULES.md 17.2). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ChainConfig } from '../../../../gateway/process/chain.ts';
import { ConfigError } from '../../../../gateway/process/config.ts';
import { openControlDatabase } from '../../../../gateway/store/database.ts';
import { Platform } from '../../../../gateway/store/platform.ts';
import { requireSettlementMode, SETTLEMENT_FILE } from '../../../../gateway/store/settlementMode.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const dataDir = temporaryDirectory();
writeFileSync(join(dataDir, SETTLEMENT_FILE), '');
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

test('it does not go on without settlement.db, which knows what the chain has done first', () => {
  const platform = newPlatform();
  const without = { ...WITH, dataDir: temporaryDirectory() };
  requireSettlementMode(without, platform);
  requireSettlementMode(without, platform);
  platform.setHasJournals();
  assert.throws(() => requireSettlementMode(without, platform), {
    name: ConfigError.name,
    message: 'settlement.db is missing: put it back, as it was beside these journals',
  });
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
