/**
 * Decisions wait and can be vetoed (data/contracts/src/Resolutions.sol): who may do what and when, and random calls
 * against a model of the rules.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, type Hex, maxUint256, toHex, zeroAddress } from 'viem';
import { Random } from '../support/random.ts';
import { seedOr, timesOf } from '../support/seeds.ts';
import { NO_ANVIL } from './anvil.ts';
import { deployOwn, send } from './deploy.ts';
import { type ChainMarket, chainRig, eventsOf, key, RESOLUTION_DELAY, ROLES, refused } from './rig.ts';

const rig = await chainRig(RESOLUTION_DELAY);
const options = { skip: NO_ANVIL };
const STEPS = timesOf({ suite: 300, soak: 10_000 });
const seed = seedOr(49);
const WEEK = 7n * 86_400n;
const DENIED = 'AccessControlUnauthorizedAccount';
const ALL = 1_000_000n;
const [carol, second, third]: Address[] = [key(3).address, toHex(0xd1, { size: 20 }), toHex(0xd2, { size: 20 })];
const { resolver, vetoer, admin } = ROLES;

const as = (from: Address, name: string, ...args: unknown[]) => rig.decide(from, name, args);
const view = (name: string, ...args: unknown[]) => rig.call('resolutions', name, args);
const grant = async (to: Address) => as(admin, 'grantRole', await view('PROPOSER_ROLE'), to);
const revoke = async (from: Address) => as(admin, 'revokeRole', await view('PROPOSER_ROLE'), from);
const payoutOf = async (conditionId: Hex): Promise<readonly bigint[]> => {
  const asked = [0n, 1n].map((outcome) => rig.call('conditionalTokens', 'payoutNumerators', [conditionId, outcome]));
  return (await Promise.all(asked)) as bigint[];
};

/** @returns its number. */
async function proposed(marketId: Hex, yes: bigint, by: Address = resolver): Promise<bigint> {
  const { logs } = await as(by, 'propose', marketId, yes, ALL - yes);
  return eventsOf(logs, 'Resolutions', 'Proposed')[0].args.number as bigint;
}

async function proposalOf(marketId: Hex) {
  type Found = { number: bigint; proposer: Address; yesPayout: bigint; isOpen: boolean };
  type Standing = Found & { from: bigint; isDecided: boolean; decidedYes: bigint };
  const [found] = (await view('standingsOf', [marketId])) as [Standing];
  return found;
}

test('a decision waits for the delay, is the one that was proposed, and is sent by anybody', options, async () => {
  const { marketId, conditionId } = await rig.createMarket();
  const number = await proposed(marketId, 700_000n);
  await refused(as(carol, 'carryOut', number), 'NotDue');
  await rig.pass(RESOLUTION_DELAY - 10n);
  await refused(as(resolver, 'carryOut', number), 'NotDue');
  await rig.pass(10n);
  const { logs } = await as(carol, 'carryOut', number);
  assert.deepEqual(eventsOf(logs, 'Resolutions', 'CarriedOut')[0].args, { marketId, number, yesPayout: 700_000n });
  assert.deepEqual(await payoutOf(conditionId), [700_000n, 300_000n]);
  await refused(as(carol, 'carryOut', number), 'NotOpen');
  await refused(as(vetoer, 'veto', number), 'NotOpen');
  await refused(as(resolver, 'propose', marketId, ALL, 0n), 'MarketDecided');
});

test('what is proposed is of a market that exists, whole, and one at a time', options, async () => {
  const { marketId } = await rig.createMarket();
  await refused(as(resolver, 'propose', toHex(0xdead, { size: 16 }), ALL, 0n), 'MarketNotCreated');
  const wrong = [
    [0n, 0n],
    [ALL, 1n],
    [ALL + 1n, 0n],
    [2n ** 32n + ALL, 0n],
    [maxUint256, maxUint256],
  ];
  for (const [yes, no] of wrong) await refused(as(resolver, 'propose', marketId, yes, no), 'PayoutsNotWhole');
  await refused(as(carol, 'propose', marketId, ALL, 0n), DENIED);
  await refused(as(vetoer, 'propose', marketId, ALL, 0n), DENIED);
  await refused(as(admin, 'propose', marketId, ALL, 0n), DENIED);
  await proposed(marketId, ALL);
  await refused(as(resolver, 'propose', marketId, 0n, ALL), 'AlreadyProposed');
  for (const number of [0n, 2n, maxUint256]) {
    await refused(as(vetoer, 'veto', number), 'NotOpen');
    await refused(as(carol, 'carryOut', number), 'NotOpen');
  }
});

test('a veto ends all that its proposer has proposed, and another one proposes rightly', options, async () => {
  const [{ marketId: first }, { marketId: other }] = [await rig.createMarket(), await rig.createMarket()];
  const [wrong, beside] = [await proposed(first, 0n), await proposed(other, ALL)];
  await refused(as(carol, 'veto', wrong), 'NotAVetoer');
  await refused(as(admin, 'veto', wrong), 'NotAVetoer');
  await rig.pass(RESOLUTION_DELAY);
  // Late, and in time all the same: nobody has carried it out.
  const { logs } = await as(vetoer, 'veto', wrong);
  const [{ args }] = eventsOf(logs, 'Resolutions', 'Vetoed');
  assert.deepEqual(
    Object.values(args)
      .map(String)
      .map((text) => text.toLowerCase()),
    [first, String(wrong), resolver, vetoer],
  );
  for (const number of [wrong, beside]) await refused(as(carol, 'carryOut', number), 'NotOpen');
  await refused(as(resolver, 'propose', first, 0n, ALL), DENIED);
  await refused(as(vetoer, 'veto', beside), 'NotOpen');
  await grant(second);
  const right = await proposed(first, ALL, second);
  await refused(as(vetoer, 'veto', wrong), 'NotOpen');
  // The role alone brings nothing back.
  await grant(resolver);
  await refused(as(carol, 'carryOut', beside), 'NotOpen');
  await rig.pass(RESOLUTION_DELAY);
  await as(carol, 'carryOut', right);
  assert.equal((await proposalOf(other)).isOpen, false);
  assert.equal((await proposalOf(await proposed(other, 0n).then(() => other))).isOpen, true);
});

test('a proposer who loses or gives up its role loses what it has proposed', options, async () => {
  const { marketId } = await rig.createMarket();
  const role = await view('PROPOSER_ROLE');
  for (const leave of [() => revoke(resolver), () => as(resolver, 'renounceRole', role, resolver)]) {
    const number = await proposed(marketId, ALL);
    await leave();
    await grant(resolver);
    await rig.pass(RESOLUTION_DELAY);
    await refused(as(carol, 'carryOut', number), 'NotOpen');
  }
  assert.equal(await proposed(marketId, ALL), 3n);
});

test('another delay is in force a week later, within its bounds, and shortens nothing before', options, async () => {
  await refused(as(resolver, 'announceDelay', 5n), DENIED);
  await refused(as(vetoer, 'announceDelay', 5n), DENIED);
  for (const wrong of [0n, WEEK + 1n, maxUint256]) await refused(as(admin, 'announceDelay', wrong), 'DelayOutOfBounds');
  const { marketId } = await rig.createMarket();
  await as(admin, 'announceDelay', WEEK);
  await rig.pass(WEEK - 5n);
  assert.equal(await view('delay'), RESOLUTION_DELAY);
  await as(admin, 'announceDelay', 1n);
  await rig.pass(10n);
  assert.equal(await view('delay'), RESOLUTION_DELAY, 'the second took the place of the first');
  await rig.pass(WEEK - 20n);
  const number = await proposed(marketId, ALL);
  await rig.pass(15n);
  assert.equal(await view('delay'), 1n);
  await refused(as(carol, 'carryOut', number), 'NotDue');
  await as(admin, 'announceDelay', 2n);
  assert.equal(await view('delay'), 1n, 'that in force stays in force until then');
});

test('a vetoer that is taken away may veto for a week still, and one always stays', options, async () => {
  await refused(as(vetoer, 'addVetoer', second), DENIED);
  await refused(as(carol, 'removeVetoer', vetoer), DENIED);
  await refused(as(admin, 'removeVetoer', vetoer), 'VetoerNeeded');
  await refused(as(admin, 'removeVetoer', carol), 'NotAVetoer');
  await refused(as(admin, 'addVetoer', zeroAddress), 'VetoerNeeded');
  await as(admin, 'addVetoer', second);
  await as(admin, 'addVetoer', second);
  await as(admin, 'removeVetoer', vetoer);
  await refused(as(admin, 'removeVetoer', second), 'VetoerNeeded');
  await refused(as(admin, 'removeVetoer', vetoer), 'NotAVetoer');
  const { marketId } = await rig.createMarket();
  await rig.pass(WEEK - 20n);
  await as(vetoer, 'veto', await proposed(marketId, ALL));
  await rig.pass(30n);
  await grant(resolver);
  const number = await proposed(marketId, ALL);
  await refused(as(vetoer, 'veto', number), 'NotAVetoer');
  await as(second, 'veto', number);
});

test(
  'the markets of proposals are read in parts, and the right to decide is given to nobody else',
  options,
  async () => {
    const ids: Hex[] = [];
    for (let n = 0; n < 5; n++) ids.push((await rig.createMarket()).marketId);
    for (const id of ids) await proposed(id, ALL);
    assert.deepEqual(await view('marketsFrom', 2n, 3n), ids.slice(1, 4));
    assert.deepEqual(await view('marketsFrom', 5n, 3n), ids.slice(4));
    for (const beyond of [6n, maxUint256]) assert.deepEqual(await view('marketsFrom', beyond, 3n), []);
    const { marketFactory, resolutions } = rig.contracts;
    const role = await rig.call('marketFactory', 'RESOLVER_ROLE', []);
    const onFactory = (from: Address, name: string, ...args: unknown[]) =>
      send(rig.client, from, marketFactory, 'MarketFactory', name, args);
    await refused(onFactory(admin, 'grantRole', role, admin), DENIED);
    await refused(onFactory(admin, 'revokeRole', role, resolutions), DENIED);
    for (const from of [admin, resolver, vetoer]) await refused(onFactory(from, 'resolve', ids[0], ALL, 0n), DENIED);
  },
);

test(
  'the contract is not deployed with a delay out of bounds, or without another key that vetoes',
  options,
  async () => {
    const { marketFactory } = rig.contracts;
    const good = { proposer: resolver, vetoer, delay: 60n, leastDelay: 60n };
    const deploy = (changes: object) =>
      deployOwn(rig.client, admin, 'Resolutions', [marketFactory, admin, { ...good, ...changes }]);
    for (const changes of [
      { leastDelay: 0n },
      { leastDelay: 61n },
      { delay: WEEK + 1n },
      { vetoer: zeroAddress },
      { vetoer: resolver },
    ]) {
      await assert.rejects(
        deploy(changes),
        /not deployed/,
        JSON.stringify(changes, (_, value) => String(value)),
      );
    }
    await deploy({});
  },
);

const ACTIONS = ['veto', 'revoke', 'propose', 'grant', 'carryOut', 'pass'].flatMap((name, index) =>
  Array.from({ length: 1 + 2 * index }, () => name),
);

/** The model knows the rules of the contract in other words. */
class Model {
  readonly proposers = new Set<Address>([resolver]);
  readonly open = new Map<Hex, { number: bigint; by: Address; yes: bigint; from: bigint }>();
  readonly decided = new Map<Hex, bigint>();
  count = 0n;

  lose(proposer: Address): void {
    this.proposers.delete(proposer);
    for (const [market, { by }] of this.open) if (by === proposer) this.open.delete(market);
  }
}

test(`random proposals, vetoes and roles end as a model says, ${STEPS} steps, seed ${seed}`, options, async () => {
  const random = new Random(seed);
  const model = new Model();
  // One after the other: the node gives two transactions of a sender one nonce if both ask for it at once.
  const markets: ChainMarket[] = [];
  while (markets.length < 4) markets.push(await rig.createMarket());
  const now = async () => (await rig.client.getBlock()).timestamp;
  const tried = (call: Promise<unknown>): Promise<boolean> =>
    call.then(
      () => true,
      (error: Error) => {
        assert.match(error.message, /revert/, error.message);
        return false;
      },
    );
  for (let step = 0; step < STEPS; step++) {
    const [who, market] = [random.pick([resolver, second, third]), random.pick(markets)];
    const found = model.open.get(market.marketId);
    const what = random.pick(ACTIONS);
    const title = `step ${step}, ${what}`;
    if (what === 'propose') {
      const yes = BigInt(random.below(1_000_002));
      const may = model.proposers.has(who) && !model.decided.has(market.marketId) && !found && yes <= ALL;
      const no = yes > ALL ? 0n : ALL - yes;
      assert.equal(await tried(as(who, 'propose', market.marketId, yes, no)), may, title);
      const from = (await now()) + RESOLUTION_DELAY;
      if (may) model.open.set(market.marketId, { number: ++model.count, by: who, yes, from });
    } else if (what === 'carryOut') {
      const number = random.chance(80) ? (found?.number ?? 1n) : BigInt(random.below(10));
      const due = [...model.open].find(([, open]) => open.number === number);
      const isDone = await tried(as(carol, 'carryOut', number));
      assert.equal(isDone, due !== undefined && (await now()) >= due[1].from, title);
      if (isDone) {
        model.decided.set(due![0], due![1].yes);
        model.open.delete(due![0]);
      }
    } else if (what === 'veto') {
      const number = random.chance(80) ? (found?.number ?? 1n) : BigInt(random.below(10));
      const hit = [...model.open.values()].find((open) => open.number === number);
      assert.equal(await tried(as(vetoer, 'veto', number)), hit !== undefined, title);
      if (hit !== undefined) model.lose(hit.by);
    } else if (what === 'grant') {
      await grant(who);
      model.proposers.add(who);
    } else if (what === 'revoke') {
      await revoke(who);
      model.lose(who);
    } else await rig.pass(RESOLUTION_DELAY / BigInt(random.between(1, 3)));
    await assertAsModel(model, markets, title);
    if (model.decided.size === markets.length) markets.push(await rig.createMarket());
  }
  assert.ok(model.decided.size > 2, `${model.decided.size} of ${model.count} proposals were carried out`);
});

async function assertAsModel(
  model: Model,
  markets: readonly { marketId: Hex; conditionId: Hex }[],
  when: string,
): Promise<void> {
  for (const { marketId, conditionId } of markets) {
    const { number, yesPayout, isOpen, from, proposer, isDecided, decidedYes } = await proposalOf(marketId);
    const open = model.open.get(marketId);
    assert.equal(isOpen, open !== undefined, `what is open ${when}`);
    const found = { number, by: proposer.toLowerCase(), yes: yesPayout, from };
    if (open !== undefined) assert.deepEqual(found, open, `the proposal ${when}`);
    const yes = model.decided.get(marketId);
    assert.deepEqual([isDecided, decidedYes], [yes !== undefined, yes ?? 0n], `the decision ${when}`);
    assert.deepEqual(await payoutOf(conditionId), yes === undefined ? [0n, 0n] : [yes, ALL - yes], `paid ${when}`);
  }
  assert.equal(await view('count'), model.count, when);
  const numbered = (await view('marketsFrom', 1n, 1000n)) as Hex[];
  assert.equal(BigInt(numbered.length), model.count, when);
  for (const [marketId, { number }] of model.open) assert.equal(numbered[Number(number) - 1], marketId, when);
}
