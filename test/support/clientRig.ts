/** The gateway's link and client over shards that run in the test's own thread, whenever the test says so. */
import assert from 'node:assert/strict';
import { ShardClient } from '../../gateway/shardlink/client.ts';
import { ShardLink } from '../../gateway/shardlink/link.ts';
import type { ShardLinkOptions } from '../../gateway/shardlink/linkOptions.ts';
import type { ShardReply } from '../../gateway/shardlink/reply.ts';
import { Views } from '../../gateway/shardlink/views.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, STAGE, TIME_IN_FORCE } from '../../shared/base/codes.ts';
import { OK } from '../../shared/base/errors.ts';
import { Balances, createBalances } from '../../shared/wire/balances.ts';
import { COMMAND } from '../../shared/wire/commands.ts';
import { amountsOf, writePlacement } from './commandBodies.ts';
import { InThreadShard } from './inThreadShard.ts';
import { ManualClock } from './manualClock.ts';
import { RecordWriter } from './recordWriter.ts';
import type { Scope } from './server.ts';

export const START_MS = 1_800_000_000_000;

type RigOptions = { shards?: number; commandRingBytes?: number } & Partial<ShardLinkOptions>;

export class ClientRig {
  readonly shards: InThreadShard[];
  readonly views: Views;
  readonly clock = new ManualClock(START_MS);
  readonly link: ShardLink;
  readonly client: ShardClient;
  readonly fatal: unknown[] = [];
  #salt = 0;

  constructor(t: Scope, { shards = 2, commandRingBytes, ...options }: RigOptions = {}) {
    const cells = createBalances(shards);
    this.shards = Array.from(
      { length: shards },
      (_, shard) => new InThreadShard(new Balances(cells, shard), commandRingBytes),
    );
    this.views = new Views(shards);
    this.link = new ShardLink({
      shards,
      views: this.views,
      follower: null,
      waitingPlacements: 4096,
      clock: this.clock,
      onHandlerError: (error) => {
        throw error;
      },
      onFatal: (error) => this.fatal.push(error),
      ...options,
    });
    this.client = new ShardClient(this.link);
    t.after(() => {
      this.link.stop();
      assert.deepEqual(this.fatal, []);
    });
  }

  /** @returns when all shards are READY. */
  attach(): Promise<unknown> {
    return Promise.all(this.shards.map((_, index) => this.attachShard(index)));
  }

  attachShard(index: number): Promise<void> {
    return this.link.attach(index, this.shards[index]);
  }

  async start(): Promise<void> {
    const started = this.attach();
    for (const shard of this.shards) shard.describe();
    await started;
    for (let index = 0; index < this.shards.length; index++) await this.#openMarket(index);
    await this.run(this.client.funds(1, MOVEMENT.DEPOSIT, 1_000_000_000, new Uint8Array(32).fill(1)));
  }

  /** Market k is in shard k here; the id only has to be one. */
  async #openMarket(index: number): Promise<void> {
    const idBytes = new Uint8Array(16).fill(index + 1);
    const opening = { status: MARKET_STATUS.ACTIVE, feeBps: 50, startMs: START_MS, endMs: START_MS + 10 ** 9 };
    const terms = { index, shard: index, idBytes, ticksPerUnit: 100, minOrderAtomic: 1_000_000, opening };
    const reply = await this.run(this.client.openMarket(terms, opening.status, opening.feeBps, STAGE.OPEN));
    assert.equal(reply.code, OK);
  }

  step(): void {
    for (const shard of this.shards) shard.step();
  }

  run<T>(reply: Promise<T>): Promise<T> {
    this.step();
    return reply;
  }

  /** 100 tokens at `ticks`. */
  record(
    side: number,
    ticks: number,
    outcome: number = OUTCOME.YES,
    timeInForce: number = TIME_IN_FORCE.GTC,
  ): Uint32Array {
    const record = new Uint32Array(COMMAND.PLACE.BYTES / 4);
    const fields = { salt: ++this.#salt, side, outcome, timeInForce, feeBps: 50, ...amountsOf(side, 1_000_000, ticks) };
    writePlacement(record, 0, fields, false);
    return record;
  }

  /** The same, as the client takes it. */
  writer(...order: Parameters<ClientRig['record']>): RecordWriter {
    return new RecordWriter(this.record(...order));
  }

  place(
    record: Uint32Array,
    account = 1,
    market = 0,
  ): Promise<ShardReply & { status: number; slot: number; fills: number }> {
    return new Promise((resolve) => {
      const code = this.client.place(
        market,
        account,
        market,
        new RecordWriter(record),
        (reply, context) => {
          assert.equal(context, record, 'the context is the one that was given');
          const { result } = reply;
          resolve({ ...reply, status: result.status(), slot: result.slot, fills: result.fills });
        },
        record,
      );
      assert.equal(code, OK);
    });
  }

  /** The hash of an open order of shard 0. */
  hashOf(slot: number, shard = 0): Uint32Array {
    return this.views.orders[shard].hash.slice(slot * 8, slot * 8 + 8);
  }

  ask(send: (handler: (reply: ShardReply) => void) => number): Promise<ShardReply> {
    return new Promise((resolve) => {
      assert.equal(
        send((reply) => resolve({ ...reply })),
        OK,
      );
    });
  }
}
