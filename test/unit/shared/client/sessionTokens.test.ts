/** Tabs of a browser that send each other their tokens, over the channels and locks of a browser that the test is. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type SessionTokens, TabTokens } from '../../../../shared/client/sessionTokens.ts';

const ORIGIN = 'https://exchange.test';
const tokens = (accessToken: string): SessionTokens => ({
  accessToken,
  expiresMs: Number.MAX_SAFE_INTEGER,
  refreshToken: null,
  user: { id: 'user' } as SessionTokens['user'],
});

/** Locks that are held as long as the test runs, and one channel for all tabs. */
function browser(t: TestContext) {
  const held: { name: string }[] = [];
  const locks = {
    request: (name: string, _options: object, act: () => Promise<unknown>) => {
      held.push({ name });
      return act();
    },
    query: async () => ({ held }),
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator')!;
  Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true });
  t.after(() => Object.defineProperty(globalThis, 'navigator', before));
  const channels: { close(): void }[] = [];
  t.after(() => {
    for (const channel of channels) channel.close();
  });
  return (): TabTokens => {
    const channel = new BroadcastChannel(`test of ${ORIGIN}`);
    channels.push(channel);
    return new TabTokens(ORIGIN, channel as never);
  };
}

test('a tab that opens takes the tokens of another one, and what one renews all have', async (t) => {
  const open = browser(t);
  const first = open();
  assert.equal(await first.ask(), null, 'it is alone, and does not wait');
  first.write(tokens('a'));
  const second = open();
  assert.equal((await second.ask())?.accessToken, 'a');
  assert.equal(second.read()?.accessToken, 'a');
  second.write(tokens('b'));
  while (first.read()?.accessToken !== 'b') await nextTurn();
  assert.equal((await open().ask())?.accessToken, 'b');
});

test('a tab that signs out does so for all, and no tab has tokens for the next one', async (t) => {
  const open = browser(t);
  const [first, second] = [open(), open()];
  first.write(tokens('a'));
  while (second.read() === null) await nextTurn();
  second.write(null);
  while (first.read() !== null) await nextTurn();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked = open().ask();
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  t.mock.timers.tick(2000);
  assert.equal(await asked, null);
});
