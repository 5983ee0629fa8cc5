/** Splits and merges with a key (RULES.md 6.7) whose answer is lost: a repeat converts nothing twice. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AccountStates } from '../../../../gateway/account/accountStates.ts';
import { fundRoutes } from '../../../../gateway/account/fundsRoutes.ts';
import type { AccountReads } from '../../../../gateway/account/reads.ts';
import type { MarketEntry } from '../../../../gateway/markets/catalog.ts';
import { UNRESOLVED } from '../../../../gateway/shardlink/answerDb.ts';
import { IdempotencyStage } from '../../../../gateway/shardlink/idempotencyStage.ts';
import { LEDGER_SETTLEMENT } from '../../../../gateway/shardlink/settlementPort.ts';
import { ERRORS, type ErrorRow } from '../../../../shared/base/errors.ts';
import { EXT_ROUTE } from '../../../../shared/wire/commands.ts';
import { TestCall } from '../../../support/calls.ts';
import { ClientRig } from '../../../support/clientRig.ts';
import { eventually } from '../../../support/eventually.ts';
import { MemoryAnswers } from '../../../support/memoryAnswers.ts';

const KEY = '0190a6f0-7b1c-7abc-8def-0123456789ab';
const KEY_ID = { account: 1, fingerprint: new Uint8Array(16), key: Buffer.from(KEY.replaceAll('-', ''), 'hex') };
const MARKET_ID = '11111111-1111-4111-8111-111111111111';
const AMOUNT = 5_000_000;

/** The read model's answer about the key, and the restriction of the account. */
type World = {
  found: Awaited<ReturnType<AccountReads['convertedWithKey']>>;
  questions: number;
  restriction: ErrorRow | null;
};

/** The route that splits, over a market of shard 0. */
async function deskOf(t: TestContext) {
  const rig = new ClientRig(t);
  await rig.start();
  const answers = new MemoryAnswers();
  const stage = new IdempotencyStage(answers, rig.clock);
  const world: World = { found: { ok: true, value: 0 }, questions: 0, restriction: null };
  const routes = fundRoutes({
    engine: rig.client,
    views: rig.views,
    catalog: { byId: () => ({ index: 0, shard: 0 }) as MarketEntry },
    accountStates: { addingRefusal: () => world.restriction } as unknown as AccountStates,
    queries: {
      convertedWithKey: async () => {
        world.questions++;
        return world.found;
      },
    },
    settlement: LEDGER_SETTLEMENT,
    onError: (error) => {
      throw error;
    },
  });
  const { handler } = routes.find(({ path }) => path.endsWith('/split'))!;
  const split = (): TestCall => {
    const path = `/v1/markets/${MARKET_ID}/split`;
    const asked = new TestCall({ method: 'POST', path, body: { amount: String(AMOUNT) }, idempotencyKey: KEY });
    asked.call.params = { id: MARKET_ID };
    assert.equal(stage.tryHold(asked.call, EXT_ROUTE.CONVERT), 'held');
    asked.call.dispatched = true;
    void handler(asked.call);
    void asked.answered.then(() => stage.release(asked.call));
    return asked;
  };
  /** The shard dies after the command is in its ring, and another thread takes its place. */
  const loseFirst = async (): Promise<void> => {
    const first = split();
    rig.link.shardLost(0);
    await first.answered;
    assert.equal(first.json.code, 'OUTCOME_UNKNOWN');
    assert.equal(answers.find(KEY_ID)?.status, UNRESOLVED);
  };
  const restart = async (): Promise<void> => {
    rig.shards[0] = rig.shards[0].rebuilt();
    const back = rig.attachShard(0);
    rig.shards[0].describe();
    await back;
  };
  const tokens = (): number => rig.views.accounts.allTokens(1)[0]?.availableAtomic ?? 0;
  return { rig, answers, world, split, loseFirst, restart, tokens };
}

test('a split whose answer is lost is answered by its repeat and not carried out again', async (t) => {
  const { rig, answers, world, split, loseFirst, restart } = await deskOf(t);
  await loseFirst();
  await restart();
  world.found = { ok: true, value: 1 };
  // A restriction that came since does not refuse a split that is done.
  world.restriction = ERRORS.ACCOUNT_FROZEN;
  const before = rig.views.accounts.availableMicro(1);
  const again = split();
  await again.answered;
  rig.step();
  assert.equal(again.status, 200);
  assert.deepEqual(again.json, { message: 'split', market_id: MARKET_ID, amount: String(AMOUNT) });
  assert.equal(rig.views.accounts.availableMicro(1), before);
  assert.equal(answers.find(KEY_ID)?.body, again.text);
});

test('one that was given up and may still be carried out is not carried out by its repeat as well', async (t) => {
  const { rig, world, split, tokens } = await deskOf(t);
  const first = split();
  // The log of a cluster is slow: the command waits in the shard, and its sender does not.
  rig.link.answerUnknown(0);
  await first.answered;
  assert.equal(first.json.code, 'OUTCOME_UNKNOWN');
  const early = split();
  await early.answered;
  assert.deepEqual([early.json.code, world.questions], ['OUTCOME_UNKNOWN', 0]);
  rig.step();
  await eventually('the reply', async () => rig.link.inFlight === 0);
  world.found = { ok: true, value: 1 };
  const again = split();
  await again.answered;
  rig.step();
  assert.deepEqual([again.status, world.questions, tokens()], [200, 1, AMOUNT]);
});

test('one that was never carried out is carried out by its repeat', async (t) => {
  const { rig, world, split, loseFirst, restart, tokens } = await deskOf(t);
  await loseFirst();
  await restart();
  const again = split();
  await new Promise(setImmediate);
  rig.step();
  await again.answered;
  assert.deepEqual([again.status, world.questions, tokens()], [200, 1, AMOUNT]);
});

test('while it cannot be known whether it was carried out, the repeat says so and converts nothing', async (t) => {
  const { rig, answers, world, split, loseFirst, restart, tokens } = await deskOf(t);
  await loseFirst();
  const early = split();
  await early.answered;
  // Nothing is asked before the shard has read its journal to the end.
  assert.deepEqual([early.json.code, world.questions], ['OUTCOME_UNKNOWN', 0]);
  await restart();
  world.found = { ok: false, row: ERRORS.ENGINE_BUSY };
  const late = split();
  await late.answered;
  rig.step();
  assert.deepEqual([late.json.code, answers.find(KEY_ID)?.status, tokens()], ['OUTCOME_UNKNOWN', UNRESOLVED, 0]);
});

test('a first split asks no query', async (t) => {
  const { rig, world, split, tokens } = await deskOf(t);
  const asked = split();
  rig.step();
  await asked.answered;
  assert.deepEqual([asked.status, world.questions, tokens()], [200, 0, AMOUNT]);
});
