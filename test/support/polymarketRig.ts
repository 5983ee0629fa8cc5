/** `npm run polymarket` in the process of a test, before a real exchange; says if the official clients are there. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Polymarket } from '../../gateway/programs/polymarket/polymarket.ts';
import { PolymarketStore } from '../../gateway/programs/polymarket/store.ts';
import { systemClock } from '../../shared/base/clock.ts';
import type { Scope, TestServer } from './server.ts';

const PEERS = new URL('../peers/node_modules/@polymarket/', import.meta.url);
/** The reason to skip a test, or false. */
export const NO_PEERS = existsSync(PEERS)
  ? false
  : 'the clients of test/peers are not installed: (cd test/peers && npm ci)';

/** Settings as `npm run polymarket` has them by default, before this exchange. */
function settingsOf({ baseUrl, adminUrl, adminToken }: TestServer) {
  return {
    exchangeUrl: new URL(baseUrl),
    adminUrl: new URL(adminUrl),
    adminToken,
    isPlay: true,
    playMicro: 10_000_000_000n,
    orderVersion: 2 as 1 | 2,
    chainId: 137,
    hasFaults: true,
    mostAccounts: 1000,
    requestsPerSecond: 100_000,
  };
}
type FacadeSettings = ReturnType<typeof settingsOf>;

type Facade = { readonly host: string; readonly errors: unknown[]; close(): void };

export async function startFacade(
  scope: Scope,
  server: TestServer,
  changed: Partial<FacadeSettings> = {},
  file = ':memory:',
  port = 0,
): Promise<Facade> {
  const errors: unknown[] = [];
  const facade = await Polymarket.open({
    settings: { ...settingsOf(server), ...changed },
    store: new PolymarketStore(file),
    clock: systemClock,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    onError: (error) => void errors.push(error),
  });
  let isOpen = true;
  const close = (): void => {
    if (isOpen) facade.close();
    isOpen = false;
  };
  scope.after(close);
  const at = await facade.listen('127.0.0.1', port);
  return { host: `http://127.0.0.1:${at}`, errors, close };
}
