/** The order in which the relayer writes and sends (RULES.md 16.21, 16.22), on a rail that records what it gets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EnvelopesInMemory } from '../../../../shared/chain/envelopesInMemory.ts';
import {
  type RelayedRail,
  type RelayedTransfer,
  Relayer,
  type StoredEnvelope,
} from '../../../../shared/chain/relayer.ts';
import type { BroadcastResult } from '../../../../shared/wire/railQuestions.ts';
import { ManualClock } from '../../../support/manualClock.ts';

const ADDRESS = `0x${'1'.repeat(40)}`;

function intentOf(sessionId: string): RelayedTransfer {
  const terms = { from: ADDRESS, to: ADDRESS, valueMicro: 1, nonce: `0x${sessionId}` };
  return { sessionId, ...terms, validAfterSec: 0, validBeforeSec: 10, signature: '0x' };
}

/** The disk is sure to have everything written before the last call of `durable`. */
class Rig {
  readonly envelopes = new EnvelopesInMemory();
  durable: string[] = [];
  isStalled = false;
  readonly sent: string[] = [];
  readonly leaving = new Set<string>();
  answer: BroadcastResult = 'refused';
  railNonce = 0;
  readonly relayer: Relayer;

  get rows(): readonly StoredEnvelope[] {
    return this.envelopes.rows;
  }

  constructor() {
    const rail = {
      sender: async () => '',
      fee: async () => 1,
      accountNonce: async () => this.railNonce,
      bumpedFee: (fee: number) => fee + 1,
      preflight: async () => null,
      authorization: async () => ({ state: 'unused' }),
      transaction: async () => null,
      envelope: async ({ accountNonce, fee }: { accountNonce: number; fee: number }) => {
        const signed = `bytes-${accountNonce}-${fee}`;
        return { unsigned: signed, signed, txHash: `hash-${signed}` };
      },
      broadcast: async (signed: string) => {
        assert.ok(this.durable.includes(signed), `${signed} left before the disk had it (RELAYER-1)`);
        this.sent.push(signed);
        return this.answer;
      },
    };
    this.relayer = new Relayer({
      rail: rail as unknown as RelayedRail,
      transfers: this.envelopes,
      sessions: {
        write: (statements) => statements(),
        durable: async () => {
          if (this.isStalled) throw new Error('the log does not hold it');
          this.durable = this.rows.map(({ signed }) => signed);
        },
      },
      clock: new ManualClock(0),
      mayBroadcast: () => true,
      mayLeave: (sessionId) => this.leaving.has(sessionId),
    });
  }
}

test('bytes are on the disk before they leave, and a repeat sends the same ones (RELAYER-1)', async () => {
  const rig = new Rig();
  rig.leaving.add('a');
  assert.deepEqual(await rig.relayer.pay(intentOf('a')), { result: 'refused', reason: 'rail' });
  await rig.relayer.pay(intentOf('a'));
  assert.deepEqual(rig.sent, ['bytes-0-1', 'bytes-0-1']);
  assert.equal(rig.rows.length, 1);
});

test('bytes that the log may not hold yet do not leave when they are tried again (RELAYER-1)', async () => {
  const rig = new Rig();
  rig.leaving.add('a');
  rig.isStalled = true;
  await assert.rejects(rig.relayer.pay(intentOf('a')), /the log does not hold it/);
  await assert.rejects(rig.relayer.pay(intentOf('a')), /the log does not hold it/);
  assert.deepEqual([rig.rows.length, rig.sent], [1, []]);
  rig.isStalled = false;
  await rig.relayer.pay(intentOf('a'));
  assert.deepEqual(rig.sent, ['bytes-0-1']);
});

test('no further account nonce is used while an envelope that may leave waits (RELAYER-2)', async () => {
  const rig = new Rig();
  rig.leaving.add('a').add('b');
  await rig.relayer.pay(intentOf('a'));
  assert.deepEqual(await rig.relayer.pay(intentOf('b')), { result: 'waiting' });
  assert.equal(rig.rows.length, 1);
});

test('a transfer that must not leave gives up its account nonce to the next one (RELAYER-2, RELAYER-3)', async () => {
  const rig = new Rig();
  rig.leaving.add('a');
  await rig.relayer.pay(intentOf('a'));
  rig.leaving.clear();
  rig.leaving.add('b');
  await rig.relayer.pay(intentOf('b'));
  assert.deepEqual(
    rig.rows.map(({ sessionId, accountNonce, fee, state }) => ({ sessionId, accountNonce, fee, state })),
    [
      { sessionId: 'a', accountNonce: 0, fee: 1, state: 'dead' },
      { sessionId: 'b', accountNonce: 0, fee: 2, state: 'built' },
    ],
  );
  assert.deepEqual(rig.sent, ['bytes-0-1', 'bytes-0-2']);
});

test('transfers that ask while another has its turn have theirs after it, in this order (RELAYER-8)', async () => {
  const rig = new Rig();
  rig.answer = 'accepted';
  const ids = ['a', 'b', 'c'];
  for (const id of ids) rig.leaving.add(id);
  const relayed = await Promise.all(ids.map((id) => rig.relayer.pay(intentOf(id))));
  assert.deepEqual(
    relayed.map(({ result }) => result),
    ids.map(() => 'accepted'),
  );
  assert.deepEqual(rig.sent, ['bytes-0-1', 'bytes-1-1', 'bytes-2-1']);
});

test('a nonce that no transfer uses any more goes to the next one (RELAYER-6)', async () => {
  const rig = new Rig();
  rig.answer = 'accepted';
  for (const session of ['a', 'b']) {
    rig.leaving.add(session);
    await rig.relayer.pay(intentOf(session));
  }
  // The rail has forgotten both, and the first may no longer be sent.
  rig.leaving.delete('a');
  await rig.relayer.hasten(intentOf('b'), true);
  rig.leaving.add('c');
  await rig.relayer.pay(intentOf('c'));
  const live = rig.rows.filter(({ state }) => state !== 'dead');
  assert.deepEqual(
    live.map(({ sessionId, accountNonce, fee }) => ({ sessionId, accountNonce, fee })),
    [
      { sessionId: 'b', accountNonce: 0, fee: 2 },
      { sessionId: 'c', accountNonce: 2, fee: 1 },
    ],
  );
});

test('if another transaction uses a transfer’s nonce, the transfer gets another, even if it was sent', async () => {
  const rig = new Rig();
  rig.answer = 'accepted';
  rig.leaving.add('a');
  await rig.relayer.pay(intentOf('a'));
  rig.railNonce = 1;
  assert.deepEqual(await rig.relayer.hasten(intentOf('a'), false), { result: 'waiting' });
  assert.deepEqual(await rig.relayer.hasten(intentOf('a'), false), { result: 'accepted', txHash: 'hash-bytes-1-1' });
});

test('a forgotten transfer takes a lower nonce that nothing uses any more, at once (RELAYER-6)', async () => {
  const rig = new Rig();
  rig.answer = 'accepted';
  for (const session of ['a', 'b']) {
    rig.leaving.add(session);
    await rig.relayer.pay(intentOf(session));
  }
  await rig.relayer.hasten(intentOf('b'), false);
  rig.leaving.delete('a');
  await rig.relayer.hasten(intentOf('b'), false);
  await rig.relayer.hasten(intentOf('b'), false);
  assert.deepEqual(
    rig.sent.slice(2),
    ['bytes-1-1', 'bytes-0-2', 'bytes-0-2'],
    'first the same bytes, as long as a may leave',
  );
});
