/** Mistakes that relayers of others have made, each as a test of its name (RULES.md 16.20 to 16.22). */
import assert from 'node:assert/strict';
import { test as runTest } from 'node:test';
import { RailDown, type RelayRail } from '../../../../gateway/fiat/rail.ts';
import type { BroadcastResult } from '../../../../shared/wire/railQuestions.ts';
import { FiatRig, RAILS, signTransfer } from '../../../support/fiatRig.ts';
import { hookedRail, type RailHooks } from '../../../support/hookedRail.ts';

const AMOUNT_MICRO = 25_000_000;
const FUNDS_MICRO = 1_000_000_000;

/** Of transactions that have nonces and prices: the books have none. */
const testOnChain = (title: string, check: () => Promise<void>): void => void runTest(`evm rail: ${title}`, check);
const chainRig = (hooks: RailHooks): FiatRig => new FiatRig({ on: 'evm', rail: (rail) => hookedRail(rail, hooks) });

testOnChain('a nonce that is reserved too early leaves a gap: it is taken with its bytes, in one row', async () => {
  const hooks: RailHooks = {};
  const rig = chainRig(hooks);
  const [first, second, third] = [await rig.locked(), await rig.locked(), await rig.locked()];
  hooks.preflight = async () => 'insufficient_balance';
  await rig.sign(first);
  assert.deepEqual([first.transferState, first.errorCause], ['recoverable_error', 'broadcast_refused']);
  assert.deepEqual(rig.fiat.transfers.envelopesOf(first.id), [], 'a transfer that cannot succeed takes no nonce');
  delete hooks.preflight;
  for (const session of [second, third]) await rig.sign(session);
  await rig.pass(1000);
  assert.equal(first.transferState, 'submitted_on_chain', 'the cause is gone');
  const nonces = [first, second, third].flatMap(({ id }) => rig.fiat.transfers.envelopesOf(id));
  assert.deepEqual(nonces.map(({ accountNonce }) => accountNonce).sort(), [0, 1, 2]);
});

testOnChain(
  'the counter is the rows: after a restart the next nonce follows them, and the bytes are the same',
  async () => {
    const hooks: RailHooks = {};
    const rig = chainRig(hooks);
    const session = await rig.locked();
    hooks.broadcast = async () => Promise.reject(new RailDown('timeout'));
    await rig.sign(session);
    const [built] = rig.fiat.transfers.envelopesOf(session.id);
    assert.equal(built!.state, 'built');
    delete hooks.broadcast;
    rig.open();
    await rig.pass(2000);
    assert.deepEqual(rig.fiat.transfers.envelopesOf(session.id), [{ ...built!, state: 'accepted' }]);
    assert.equal(rig.session(session).transferState, 'submitted_on_chain');
  },
);

testOnChain(
  '“nonce too low” usually means that our own transaction has landed: it is looked up, not retried',
  async () => {
    const hooks: RailHooks = {};
    const rig = chainRig(hooks);
    const session = await rig.locked();
    hooks.broadcast = async (signed): Promise<BroadcastResult> => {
      await relayOf(rig).broadcast(signed);
      throw new RailDown('the answer was lost');
    };
    await rig.sign(session);
    hooks.broadcast = async () => 'nonce_too_low';
    await rig.pass(5000);
    assert.equal(session.transferState, 'submitted_on_chain');
    assert.equal(rig.fiat.transfers.envelopesOf(session.id).length, 1);
  },
);

testOnChain('a nonce that another sender has used is given up, and the transfer gets the next one', async () => {
  const hooks: RailHooks = {};
  const rig = chainRig(hooks);
  const session = await rig.locked();
  hooks.broadcast = async () => 'nonce_too_low';
  hooks.accountNonce = async () => 0;
  await rig.sign(session);
  assert.equal(session.transferState, 'submission_pending');
  assert.deepEqual(
    rig.fiat.transfers.envelopesOf(session.id).map(({ state }) => state),
    ['dead'],
  );
  delete hooks.broadcast;
  await rig.pass(2000);
  assert.equal(session.transferState, 'submitted_on_chain');
});

testOnChain('“sent” is not written before the broadcast has really happened', async () => {
  const hooks: RailHooks = {};
  const rig = chainRig(hooks);
  const session = await rig.locked();
  const seen: string[] = [];
  hooks.broadcast = async (signed) => {
    seen.push(session.transferState!, rig.fiat.transfers.envelopesOf(session.id)[0]!.state);
    return relayOf(rig).broadcast(signed);
  };
  await rig.sign(session);
  assert.deepEqual(seen, ['submission_pending', 'built']);
  assert.equal(session.transferState, 'submitted_on_chain');
});

testOnChain('a replacement without a higher fee is refused: each has the same nonce and a higher one', async () => {
  const hooks: RailHooks = {};
  const rig = chainRig(hooks);
  const session = await rig.locked();
  let refused = 2;
  hooks.broadcast = async (signed) => (refused-- > 0 ? 'underpriced' : relayOf(rig).broadcast(signed));
  await rig.sign(session);
  const envelopes = rig.fiat.transfers.envelopesOf(session.id);
  assert.deepEqual(
    envelopes.map(({ state }) => state),
    ['dead', 'dead', 'accepted'],
  );
  assert.deepEqual(
    envelopes.map(({ accountNonce }) => accountNonce),
    [0, 0, 0],
  );
  assert.ok(envelopes[0]!.fee < envelopes[1]!.fee && envelopes[1]!.fee < envelopes[2]!.fee);
});

testOnChain(
  'a transaction that no block takes is replaced with the same nonce, written before it is sent',
  async () => {
    const hooks: RailHooks = {};
    const rig = chainRig(hooks);
    const session = await rig.locked();
    hooks.broadcast = async () => 'accepted';
    await rig.sign(session);
    await rig.pass(55_000, 5000);
    assert.equal(rig.fiat.transfers.envelopesOf(session.id).length, 1, 'before, the same bytes are sent again');
    const stored: number[] = [];
    hooks.broadcast = async (signed) => {
      const envelopes = rig.fiat.transfers.envelopesOf(session.id).length;
      stored.push(envelopes);
      return envelopes === 1 ? 'accepted' : relayOf(rig).broadcast(signed);
    };
    await rig.pass(6000);
    assert.deepEqual([...new Set(stored)].sort(), [1, 2]);
    assert.deepEqual(
      rig.fiat.transfers.envelopesOf(session.id).map(({ accountNonce }) => accountNonce),
      [0, 0],
    );
    await rig.pass(40_000);
    assert.equal(session.transferState, 'confirmed');
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
  },
);

testOnChain('an account nonce from a node that is behind is not used twice', async () => {
  const hooks: RailHooks = { accountNonce: async () => 0 };
  const rig = chainRig(hooks);
  const sessions = [await rig.locked(), await rig.locked()];
  for (const session of sessions) await rig.sign(session);
  await rig.pass(2000);
  const nonces = sessions.flatMap(({ id }) => rig.fiat.transfers.envelopesOf(id).map((each) => each.accountNonce));
  assert.deepEqual(nonces, [0, 1]);
});

for (const on of RAILS) {
  const test = (title: string, check: () => Promise<void>): void => void runTest(`${on} rail: ${title}`, check);
  const rigWith = (hooks: RailHooks): FiatRig => new FiatRig({ on, rail: (rail) => hookedRail(rail, hooks) });

  test('a receipt that does not come is no failure: the wallet is not asked for a second authorization', async () => {
    const hooks: RailHooks = {};
    const rig = rigWith(hooks);
    const session = await rig.locked();
    await rig.sign(session);
    hooks.transaction = async () => null;
    hooks.authorization = async () => ({ state: 'unused' });
    hooks.head = async () => ({ block: 0, finalizedBlock: 0, finalizedSec: 0 });
    await rig.pass(7_200_000, 60_000);
    assert.equal(
      session.transferState,
      'submitted_on_chain',
      'without a finalized block past its time nothing is over',
    );
    const second = await rig.authorize(session, `0x${'11'.repeat(65)}`);
    assert.equal(second?.row.status, 409);
    assert.deepEqual(await rig.fiat.service.cancel(session), {
      row: second!.row,
      message: 'the wallet has signed the transfer',
    });
    for (const name of ['transaction', 'authorization', 'head'] as const) delete hooks[name];
    await rig.pass(1000);
    assert.equal(session.transferState, 'confirmed', 'it was there all the time');
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
  });

  test('a transfer is identified by (from, nonce): another sender only changes its hash', async () => {
    const down = async (): Promise<never> => Promise.reject(new RailDown('timeout'));
    const hooks: RailHooks = { broadcast: down, send: down };
    const rig = rigWith(hooks);
    const session = await rig.locked();
    await rig.sign(session);
    const intent = rig.intent(session);
    const { from, to, valueMicro, validAfterSec, validBeforeSec, nonce } = intent;
    const transfer = { from, to, valueMicro, validAfterSec, validBeforeSec, nonce };
    const sent = await rig.send('transfer', transfer, await signTransfer(rig.rail, transfer));
    for (const name of ['broadcast', 'send'] as const) delete hooks[name];
    await rig.pass(60_000);
    assert.equal(session.transferState, 'confirmed');
    assert.equal(session.txHash, sent);
    assert.equal(rig.customerMicro, FUNDS_MICRO - AMOUNT_MICRO);
    assert.ok(rig.isConserved);
  });

  test('“not known yet” is neither success nor failure: a rail that is down changes no state', async () => {
    const down = async (): Promise<never> => Promise.reject(new RailDown('timeout'));
    const hooks: RailHooks = {};
    const rig = rigWith(hooks);
    const session = await rig.locked();
    await rig.sign(session);
    Object.assign(hooks, { head: down, authorization: down, transaction: down, broadcast: down, send: down });
    const states = rig.fiat.sessions.transitionsOf(session.id).length;
    await rig.pass(3_600_000, 60_000);
    assert.equal(session.transferState, 'submitted_on_chain');
    assert.equal(rig.fiat.sessions.transitionsOf(session.id).length, states);
  });

  test('nothing is broadcast by a process that is not the leader', async () => {
    const rig = new FiatRig({ on });
    rig.mayBroadcast = false;
    const session = await rig.locked();
    await rig.sign(session);
    await rig.pass(5000);
    assert.equal(session.transferState, 'submission_pending');
    assert.deepEqual(rig.fiat.payer.transactionsOf(session.id), []);
    rig.mayBroadcast = true;
    await rig.pass(2000);
    assert.equal(session.transferState, 'submitted_on_chain');
  });
}

function relayOf(rig: FiatRig): RelayRail {
  return rig.rail as RelayRail;
}
