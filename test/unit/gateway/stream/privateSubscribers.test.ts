import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PrivateSubscribers } from '../../../../gateway/stream/privateSubscribers.ts';

test('every subscriber of an account is notified once until it leaves, and none of another account', () => {
  const subscribers = new PrivateSubscribers();
  const notified: string[] = [];
  const make = (account: number, name: string) => ({ account, follow: () => void notified.push(name) });
  const [a, b, c] = [make(1, 'a'), make(1, 'b'), make(2, 'c')];
  const after = (...accounts: number[]): string[] => {
    subscribers.notify(new Set(accounts));
    return notified.splice(0);
  };
  assert.deepEqual(after(1), []);
  for (const each of [a, b, c]) subscribers.add(each);
  assert.deepEqual([after(1), after(2), after(3), after(1, 2)], [['a', 'b'], ['c'], [], ['a', 'b', 'c']]);
  subscribers.remove(a);
  subscribers.remove(a);
  assert.deepEqual(after(1, 2), ['b', 'c']);
  subscribers.remove(b);
  subscribers.remove(make(7, 'never added'));
  assert.deepEqual(after(1, 2), ['c']);
});
