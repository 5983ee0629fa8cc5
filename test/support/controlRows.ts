/** An empty control.db, and rows that tests put into it. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { NewUser } from '../../gateway/account/accounts.ts';
import { type ControlDatabase, openControlDatabase } from '../../gateway/base/database.ts';
import type { MarketDetails, NewMarket } from '../../gateway/markets/catalog.ts';
import { completeMarketDetails } from '../../gateway/markets/marketDetails.ts';
import { MARKET_STATUS } from '../../shared/base/codes.ts';
import { temporaryDirectory } from './directory.ts';

export const NOW_MS = 1_790_000_000_000;
export const WALLET_A = `0x${'a1'.repeat(20)}`;
export const WALLET_B = `0x${'b2'.repeat(20)}`;

/** It is closed when the test ends. */
export function newDatabase(t: TestContext): ControlDatabase {
  const database = openControlDatabase(join(temporaryDirectory(), 'control.db'));
  t.after(() => database.close());
  return database;
}

export function newUser(wallet: string | null): NewUser {
  return { displayName: null, email: null, role: 'user', referralCode: null, wallet };
}

export function newMarket(fields: Partial<NewMarket> = {}): NewMarket {
  return {
    eventId: null,
    ticksPerUnit: 100,
    minOrderAtomic: 1_000_000,
    tokenIds: null,
    opening: { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: NOW_MS, endMs: NOW_MS + 1000 },
    details: details('Will it rain?'),
    ...fields,
  };
}

function details(title: string): MarketDetails {
  return completeMarketDetails({ title, description: 'Yes if it does.', category: 'Weather' });
}
