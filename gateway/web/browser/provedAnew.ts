/** Sends requests that need a fresh proof of the person (RULES.md 15.45). */
import { ApiError } from '../../../shared/client/http.ts';
import { WalletsClient } from '../../../shared/client/wallets.ts';
import { ask } from './session.ts';
import { currentWallet } from './wallets.ts';

const wallets = new WalletsClient({ origin: location.origin, send: ask }, undefined);

/** If the proof is too old, the wallet gives a new one and the request is sent again. */
export async function provedAnew<T>(send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'STEP_UP_REQUIRED') throw error;
    await wallets.stepUp(await currentWallet());
    return send();
  }
}
