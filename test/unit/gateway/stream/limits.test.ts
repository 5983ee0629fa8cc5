/** The limits of the stream as RULES.md 8.2, 8.11, 8.12, 8.14 and 8.16 state them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_CREDENTIAL } from '../../../../gateway/access/keyCredential.ts';
import { SESSION_CREDENTIAL } from '../../../../gateway/access/sessionCredential.ts';
import * as ofOrders from '../../../../gateway/stream/entryLimits.ts';
import * as limits from '../../../../gateway/stream/limits.ts';
import { ANONYMOUS, KEYED, ReplayBudgets } from '../../../../gateway/stream/replayBudgets.ts';
import { SendBuffers } from '../../../../gateway/stream/sendBuffers.ts';

const KIB = 1024;
const MIB = KIB * KIB;

test('the limits and intervals are those of the rules', () => {
  assert.deepEqual(
    { ...limits },
    {
      STREAM_PATH: '/v1/ws',
      MAX_CONNECTIONS_PER_ADDRESS: 20,
      MAX_MESSAGE_BYTES: 16 * KIB,
      MAX_MESSAGES_PER_SECOND: 20,
      MAX_BUFFERED_BYTES: 4 * MIB,
      PACED_BUFFERED_BYTES: 256 * KIB,
      PING_EVERY_MS: 10_000,
      IDLE_CLOSE_MS: 60_000,
      HEARTBEAT_EVERY_MS: 5000,
      CLOSE: { GOING_AWAY: 1001, POLICY: 1008, INTERNAL: 1011, TRY_AGAIN_LATER: 1013 },
    },
  );
  assert.deepEqual([KEY_CREDENTIAL.mostSockets, SESSION_CREDENTIAL.mostSockets], [5, 20]);
  assert.deepEqual({ ...ofOrders }, { MAX_ORDER_MESSAGE_BYTES: 64 * KIB, MAX_ORDERS_IN_FLIGHT: 1024 });
  assert.deepEqual(KEYED, { stockBytes: 64 * MIB, bytesPerSecond: 16 * MIB });
  assert.deepEqual(ANONYMOUS, { stockBytes: 8 * MIB, bytesPerSecond: MIB });
});

test('a share of replays is used up at once and fills again at its rate, up to its stock', () => {
  const budgets = new ReplayBudgets();
  const allowance = { stockBytes: 1000, bytesPerSecond: 100 };
  assert.equal(budgets.has('a', 0), true);
  budgets.spend('a', allowance, 999, 0);
  assert.equal(budgets.has('a', 0), true);
  budgets.spend('a', allowance, 101, 0);
  assert.equal(budgets.has('a', 0), false);
  assert.equal(budgets.has('a', 1000), false, 'what was sent beyond it is waited for');
  assert.equal(budgets.has('a', 1010), true);
  assert.equal(budgets.has('b', 0), true, 'another owner');
  assert.equal(budgets.size, 1);
  budgets.tick(10_999);
  assert.equal(budgets.size, 1);
  budgets.tick(11_000);
  assert.equal(budgets.size, 0, 'a full stock is forgotten');
  budgets.spend('a', allowance, 1000, 20_000);
  assert.equal(budgets.has('a', 20_000), false, 'it was never more than full');
});

test('beyond the bytes that may wait for all, the connections for which most waits are cut (SENDBUFFER-1)', () => {
  const buffers = new SendBuffers();
  const cut: string[] = [];
  const connection = (name: string) => ({ cut: () => void cut.push(name) });
  const [a, b, c] = [connection('a'), connection('b'), connection('c')];
  buffers.note(a, 100 * MIB);
  buffers.note(b, 156 * MIB);
  buffers.enforce();
  assert.deepEqual([buffers.total, cut], [256 * MIB, []]);
  buffers.note(c, 1);
  buffers.enforce();
  assert.deepEqual([buffers.total, cut, buffers.cut], [100 * MIB + 1, ['b'], 1]);
  buffers.note(a, 0);
  buffers.note(a, 0);
  buffers.note(c, 5);
  assert.equal(buffers.total, 5);
});
