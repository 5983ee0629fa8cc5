/** The claims of a witness: every account has sets of markets that are decided, and each is paid once. */
import assert from 'node:assert/strict';
import type { TestServer } from './server.ts';
import { makeMarket, type Trader } from './traders.ts';

/** Decided markets in which every account has sets to claim. */
const CLAIMS = 2;
const CLAIM_ATOMIC = 3_000_000;

export type Claimant = {
  trader: Trader;
  usdcMicro: number;
  /** Decided markets whose payout it has not received, and the ones among them that it has claimed. */
  claims: readonly string[];
  claiming: readonly string[];
};

/** Yes has won in markets in which every account has sets. */
export async function makeClaims(server: TestServer, accounts: readonly Claimant[]): Promise<void> {
  for (let claim = 0; claim < CLAIMS; claim++) {
    const { id } = await makeMarket(server);
    for (const account of accounts) {
      await account.trader.client.split(id, CLAIM_ATOMIC);
      account.usdcMicro -= CLAIM_ATOMIC;
      account.claims = [...account.claims, id];
    }
    await server.admin.resolveMarket(id, { payouts: [1_000_000, 0] });
  }
}

export function claimed(account: Claimant, market: string): void {
  account.usdcMicro += CLAIM_ATOMIC;
  for (const list of ['claims', 'claiming'] as const) account[list] = account[list].filter((id) => id !== market);
}

/** A claim pays once, so a missed answer can be requested again (RULES.md 14.24). */
export async function repeatClaims(accounts: readonly Claimant[]): Promise<void> {
  for (const account of accounts) {
    for (const market of account.claiming) {
      await account.trader.client.claim(market).catch((error) => {
        assert.equal(error.status, 404, `the claim was made: ${error.message}`);
      });
      claimed(account, market);
    }
    for (const { market_id: id } of await account.trader.client.redeemable()) {
      assert.ok(account.claims.includes(id), `what was claimed in ${id} can be claimed again`);
    }
  }
}
