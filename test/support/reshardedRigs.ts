/**
 * Shards of one exchange as engines in the test's thread, which a test trades on and divides anew
 * (engine/core/resharding.ts); what they hold together, as text that does not say which shard holds it.
 */
import assert from 'node:assert/strict';
import type { Market } from '../../engine/book/market.ts';
import { DOUBLE_SHIFT, SLOT_STATE, WORD_SHIFT } from '../../engine/book/orders.ts';
import { CLIENT_ID_WORDS } from '../../engine/book/tags.ts';
import type { Engine } from '../../engine/core/engine.ts';
import { checkInvariants } from '../../engine/core/invariants.ts';
import { distribute, finishResharding } from '../../engine/core/resharding.ts';
import { NEWEST_RULES } from '../../engine/core/rules.ts';
import { ShardState } from '../../engine/core/state.ts';
import { MOVEMENT } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { ID_KIND, timeOrderedId } from '../../shared/base/ids.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { send } from '../sim/command.ts';
import { EngineRig } from './engineRig.ts';
import { MemorySnapshot } from './memorySnapshot.ts';
import { seededRandom } from './random.ts';

const MARKETS = 7;
/** An event set, in the shard of its first market. */
const SET = [7, 8, 9];
export const ACCOUNTS = [1, 2, 3, 4];
const GROUP = 5;

type Placed = {
  account: number;
  market: number;
  salt: number;
  ticks: number;
  lots: number;
  side: number;
  expirationSec: number;
};

export class ReshardedRigs {
  rigs: EngineRig[];
  /** All orders that were accepted. */
  readonly accepted: Placed[] = [];
  /** By shard: the number of the last order that it knew of after the latest cut. */
  lastKnown: number[] = [];
  readonly #random: () => number;
  #salt = 0;
  #reference = 0;
  #floor = 0;

  constructor(shards: number, seed: number) {
    this.#random = seededRandom(seed);
    const memory = createBalances(shards);
    this.rigs = Array.from({ length: shards }, (_, shard) => rigWith({ balances: new Balances(memory, shard) }));
    for (let market = 0; market < MARKETS; market++) this.of(market).market(market);
    for (const [ordinal, market] of SET.entries())
      this.of(market).market(market, { set: { first: SET[0]!, ordinal, members: SET.length } });
    for (const account of ACCOUNTS) {
      this.fund(account, 1_000_000_000);
      for (const rig of this.rigs) rig.groupSet(account, GROUP + account, 60, 2_000_000_000);
      for (let market = 0; market < MARKETS + SET.length; market++)
        this.of(market).convert(account, market, 50_000_000);
    }
  }

  /** The shard of a market. */
  of(market: number): EngineRig {
    return this.rigs[(Math.min(market, SET[0]!) + 1) % this.rigs.length]!;
  }

  fund(account: number, micro: number, movement: number = MOVEMENT.DEPOSIT, reference = ++this.#reference) {
    return this.rigs[account % this.rigs.length].fund(account, micro, movement, reference);
  }

  get references(): number {
    return this.#reference;
  }

  /** Orders with and without ids of their clients, groups and expirations; cancels, sets, deposits and withdrawals. */
  trade(commands: number): void {
    for (let i = 0; i < commands; i++) {
      const market = this.#below(MARKETS + SET.length);
      const account = ACCOUNTS[this.#below(ACCOUNTS.length)];
      const die = this.#below(100);
      for (const rig of this.rigs) rig.nowMs += this.#below(40);
      if (die < 5) this.of(market).cancelMany(account, market);
      else if (die < 9) this.of(market).convert(account, market, 1_000_000, MOVEMENT.MERGE);
      else if (die < 20) this.#convertSet(account);
      else if (die < 23) this.fund(account, 1_000_000, die < 22 ? MOVEMENT.WITHDRAWAL : MOVEMENT.DEPOSIT);
      else this.#place(account, market);
    }
  }

  #convertSet(account: number): void {
    const rig = this.of(SET[0]!);
    const chosen = SET.flatMap((_, ordinal) => (this.#below(2) === 0 ? [ordinal] : []));
    const amount = 1 + this.#below(3_000_000);
    const command = { kind: 'convertSet', account, market: SET[0]!, chosen, amount } as const;
    const isToUsdc = this.#below(2) === 0;
    rig.run((ring) => send(ring, 1, rig.nowMs, { ...command, isToUsdc }, (market) => market));
  }

  #place(account: number, market: number): void {
    const rig = this.of(market);
    const [ticks, lots, side] = [40 + this.#below(20), 10_000 + this.#below(5) * 1000, this.#below(2)];
    const expirationSec = this.#below(5) === 0 ? Math.floor(rig.nowMs / 1000) + 5 + this.#below(90) : 0;
    const order = { account, market, salt: ++this.#salt, ticks, lots, side, expirationSec };
    const result = rig.place({
      ...order,
      ...(this.#below(4) === 0 ? { clientId: `own-${this.#salt}` } : {}),
      ...(this.#below(4) === 0 ? { group: GROUP + account } : {}),
    });
    if (result.reply.code === OK) this.accepted.push(order);
  }

  reshard(shards: number): void {
    const nowMs = Math.max(...this.rigs.map(({ engine }) => engine.nowMs));
    const from = this.rigs.map(({ engine }) => engine.state);
    const memory = createBalances(shards);
    const into = Array.from({ length: shards }, () => new ShardState(new Balances(memory), true));
    const moved = {
      from,
      into,
      nowMs,
      shardOf: ({ set, uuid }: Market) => (set?.members[0]?.uuid ?? uuid)[0]! % shards,
      onUnplaced: () => assert.fail('every order says its market'),
    };
    distribute(moved);
    finishResharding(moved);
    const sequence = Math.max(...this.rigs.map(({ engine }) => engine.sequence));
    const clockMs = Math.max(...this.rigs.map((rig) => rig.nowMs));
    for (const state of into) checkInvariants(state);
    this.lastKnown = into.map(({ orderSequence }) => orderSequence);
    this.rigs = into.map((state, shard) => {
      const rig = rigWith({
        balances: new Balances(memory, shard),
        fill: (engine) => {
          throughSnapshot(state, engine.state);
          engine.resumeAt(sequence, nowMs);
        },
      });
      rig.nowMs = clockMs;
      return rig;
    });
    for (const { engine } of this.rigs) this.#raise(engine);
  }

  /** By shard: the tokens of fills that the window of the account's group has. */
  filledInGroupOf(account: number): number[] {
    return this.rigs.map(({ engine }) => engine.state.groups.find(account, GROUP + account)!.window.sumAtomic);
  }

  /** Lists all that the shards hold together, a line for each thing. */
  held(): string[] {
    const states = this.rigs.map(({ engine }) => engine.state);
    const lines = states.flatMap((state, shard) => [
      ...ordersOf(state, shard),
      ...tokensOf(state),
      ...marketsOf(state),
    ]);
    for (const account of [0, ...ACCOUNTS]) {
      const sum = (column: 'netMicro' | 'reservedMicro') =>
        states.reduce((micro, { ledger }) => micro + (ledger[column][account] ?? 0), 0);
      lines.push(`account ${account}: ${sum('netMicro')} and ${sum('reservedMicro')}`);
    }
    const total = (name: 'depositedMicro' | 'withdrawnMicro') =>
      states.reduce((micro, { totals }) => micro + totals[name], 0);
    lines.push(`totals ${total('depositedMicro')} ${total('withdrawnMicro')}`);
    lines.push(`accepted ${states.reduce((count, { digest }) => count + digest.accepted.count, 0)}`);
    return lines.sort();
  }

  /** As the first record of each new journal does. */
  #raise(engine: Engine): void {
    this.#floor += 2 ** 20;
    engine.raise(this.#floor);
    engine.state.ledger.releaseCredits();
    engine.out.clear();
    checkInvariants(engine.state);
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }
}

function rigWith(options: ConstructorParameters<typeof EngineRig>[0]): EngineRig {
  return new EngineRig({ ...options, rules: NEWEST_RULES });
}

/** A state as a start reads it. */
function throughSnapshot(from: ShardState, into: ShardState): void {
  const snapshot = new MemorySnapshot();
  from.persist(snapshot.writer);
  into.persist(snapshot.reader);
  assert.ok(snapshot.isReadWhole);
  into.rebuild();
  checkInvariants(into);
  const [written, read] = [from, into].map((state) => {
    const lanes = new Uint32Array(2);
    state.writeDigest(lanes, 0);
    return lanes;
  });
  assert.deepEqual(read, written);
}

/** Every open order with its id, and its place in its queue. */
function ordersOf({ markets, orders }: ShardState, shard: number): string[] {
  const lines: string[] = [];
  const places = new Map<string, number>();
  const open = Array.from({ length: orders.capacity }, (_, slot) => slot)
    .filter((slot) => orders.state[slot << WORD_SHIFT] !== SLOT_STATE.FREE)
    .sort((a, b) => orders.priorityOf(a) - orders.priorityOf(b));
  for (const slot of open) {
    const row = slot << WORD_SHIFT;
    const double = slot << DOUBLE_SHIFT;
    const queue = [orders.market[row], orders.isBid[row], orders.yesTicks[row]].join('/');
    places.set(queue, (places.get(queue) ?? 0) + 1);
    const idShard = orders.origin[row] === 0 ? shard : orders.origin[row] - 1;
    const id = timeOrderedId(orders.createdMs[double], idShard, ID_KIND.ORDER, orders.sequence[double]);
    const hash = orders.signed.words.slice(orders.signed.hashOffset(slot), orders.signed.hashOffset(slot) + 8);
    const tag = orders.tag[row];
    const { clientId, clientIdBytes, group } = orders.tags;
    const at = tag * CLIENT_ID_WORDS;
    const own = tag < 0 ? '' : `${group[tag]} ${clientIdBytes[tag]} ${clientId.slice(at, at + CLIENT_ID_WORDS).join()}`;
    assert.equal(markets.peek(orders.market[row])?.index, orders.market[row]);
    lines.push(
      `order ${id} ${hash.join()} of ${orders.account[row]} in ${queue}, place ${places.get(queue)}: ` +
        `${orders.remainingLots[double]} of ${orders.quantityLots[double]}, ${orders.filledNotionalMicro[double]} ` +
        `until ${orders.expirationSec[double]} ${own}`,
    );
  }
  return lines;
}

function tokensOf({ ledger: { positions } }: ShardState): string[] {
  return Array.from({ length: positions.count }, (_, row) => {
    const cells = [0, 1].map((outcome) => {
      return [positions.available[row * 2 + outcome], positions.reserved[row * 2 + outcome]].join('+');
    });
    return `tokens of ${positions.pairs.accounts[row]} in ${positions.pairs.markets[row]}: ${cells.join(' ')}`;
  });
}

function marketsOf({ markets }: ShardState): string[] {
  const lines = [...markets.all()].map(({ index, status, collateralMicro, openOrders, stage, feeBps, set }) => {
    return `market ${index}: ${[status, collateralMicro, openOrders, stage, feeBps, set?.first].join()}`;
  });
  const sets = [...markets.sets.all()].map(({ excessMicro, first, members }) => {
    return `set ${first} of ${members.map((market) => market?.index).join()}: ${excessMicro}`;
  });
  return [...lines, ...sets];
}
