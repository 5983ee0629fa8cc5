/** Heartbeats of Polymarket's clients: orders end with the last of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PolymarketHeartbeats } from '../../../../../gateway/programs/polymarket/heartbeats.ts';
import { Refusal, signingHeaders } from '../../../../../gateway/programs/polymarket/reply.ts';

type Parts = ConstructorParameters<typeof PolymarketHeartbeats>;

function scene() {
  const done: string[] = [];
  const client = { heartbeat: async () => void done.push('armed'), cancelAll: async () => void done.push('cancelled') };
  const auth = { key: () => ({ address: '0x1' }) } as unknown as Parts[0];
  const accounts = { client: () => client } as unknown as Parts[1];
  const heartbeats = new PolymarketHeartbeats(auth, accounts, assert.ifError);
  const [route] = heartbeats.routes();
  const beat = async (heartbeat_id: string | null): Promise<{ heartbeat_id: string }> => {
    const rest = { method: 'POST', path: route!.path, query: new URLSearchParams(), headers: signingHeaders(() => '') };
    return (await route!.answer({ ...rest, body: JSON.stringify({ heartbeat_id }) }, '')) as { heartbeat_id: string };
  };
  return { done, beat, heartbeats };
}

test('orders are cancelled ten seconds after the last heartbeat, and not before', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { done, beat } = scene();
  const first = await beat(null);
  context.mock.timers.tick(9_999);
  const second = await beat(first.heartbeat_id);
  assert.notEqual(second.heartbeat_id, first.heartbeat_id);
  context.mock.timers.tick(9_999);
  assert.deepEqual(done, ['armed', 'armed'], 'POLYHEARTBEATS-1: each arms the switch of the exchange');
  context.mock.timers.tick(1);
  assert.deepEqual(done, ['armed', 'armed', 'cancelled']);
  context.mock.timers.tick(60_000);
  assert.equal(done.length, 3, 'once');
});

test('a heartbeat that does not name the last one is refused, and keeps nothing alive', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { done, beat, heartbeats } = scene();
  const { heartbeat_id } = await beat(null);
  context.mock.timers.tick(5_000);
  await assert.rejects(beat('another'), (error: unknown) => {
    assert.ok(error instanceof Refusal && error.status === 400);
    assert.deepEqual(error.more, { heartbeat_id });
    return true;
  });
  context.mock.timers.tick(5_000);
  assert.deepEqual(done, ['armed', 'cancelled']);
  await beat(null);
  heartbeats.close();
  context.mock.timers.tick(60_000);
  assert.equal(done.filter((each) => each === 'cancelled').length, 1, 'a program that ends cancels nothing itself');
});
