/** The choice of a chain (gateway/store/settlementMode.ts, RULES.md 17.2). */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ChainConfig } from '../../../../gateway/process/chain.ts';
import { ConfigError } from '../../../../gateway/process/config.ts';
import { openControlDatabase } from '../../../../gateway/store/database.ts';
import { Platform } from '../../../../gateway/store/platform.ts';
import { requireSettlementMode } from '../../../../gateway/store/settlementMode.ts';
import { temporaryDirectory } from '../../../support/directory.ts';

const WITH = { chain: {} as ChainConfig };
const WITHOUT = { chain: null };

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
