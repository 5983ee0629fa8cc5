import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Signal } from '../../../../shared/base/signal.ts';

test('subscribers are notified of each value, in the order in which they subscribed', () => {
  const signal = new Signal<number>();
  const heard: string[] = [];
  signal.notify(1);
  signal.subscribe((value) => heard.push(`first ${value}`));
  signal.subscribe((value) => heard.push(`second ${value}`));
  signal.notify(2);
  assert.deepEqual(heard, ['first 2', 'second 2']);
});
