/** API keys: made and found again by a wallet's signature, listed and deleted by themselves. */
import type { Accounts } from './accounts.ts';
import { type Auth, newKey } from './auth.ts';
import { Refusal, type Route } from './reply.ts';
import { type KeyRow, MOST_KEYS, type PolymarketStore } from './store.ts';

export function keyRoutes(auth: Auth, accounts: Accounts, store: PolymarketStore): readonly Route[] {
  const raw = ({ key: apiKey, secret, passphrase }: KeyRow): object => ({ apiKey, secret, passphrase });
  return [
    {
      ...{ method: 'POST', path: '/auth/api-key' },
      answer: async (asked) => {
        const attested = await auth.wallet(asked);
        await accounts.open(attested.address);
        // A client that is refused here derives the key that there is.
        if (store.keyOfNonce(attested.address, attested.nonce)) throw new Refusal(400, 'Could not create api key');
        const key = newKey(attested);
        if (!store.addKey(key)) throw new Refusal(400, `Could not create api key: a wallet has at most ${MOST_KEYS}`);
        return raw(key);
      },
    },
    {
      ...{ method: 'GET', path: '/auth/derive-api-key' },
      answer: async (asked) => {
        const { address, nonce } = await auth.wallet(asked);
        const key = store.keyOfNonce(address, nonce);
        if (key === undefined) throw new Refusal(400, 'Could not derive api key!');
        return raw(key);
      },
    },
    {
      ...{ method: 'GET', path: '/auth/api-keys' },
      answer: (asked) => ({ apiKeys: store.keysOf(auth.key(asked).address).map(({ key }) => key) }),
    },
    {
      ...{ method: 'DELETE', path: '/auth/api-key' },
      answer: (asked) => {
        store.removeKey(auth.key(asked).key);
        return 'OK';
      },
    },
    {
      ...{ method: 'GET', path: '/auth/ban-status/closed-only' },
      answer: async (asked) => {
        const { state } = await accounts.client(auth.key(asked).address).account.profile();
        return { closed_only: state === 'close_only' };
      },
    },
  ];
}
