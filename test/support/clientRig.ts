/** The gateway's link and client over shards that run in the test's own thread, whenever the test says so. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { EngineClient, type EngineReply } from '../../gateway/engineClient.ts';
import { EngineLink, type EngineLinkOptions } from '../../gateway/engineLink.ts';
import { Views } from '../../gateway/views/index.ts';
import { Balances, createBalances } from '../../shared/balances.ts';
import { ManualClock } from '../../shared/clock.ts';
import { MARKET_STATUS, MOVEMENT, OUTCOME, SIDE, TIME_IN_FORCE } from '../../shared/codes.ts';
import * as cmd from '../../shared/commands.ts';
import { OK } from '../../shared/errors.ts';
import { writeSafe } from '../../shared/record.ts';
import { InThreadShard } from './inThreadShard.ts';

export const START_MS = 1_800_000_000_000;

type RigOptions = { shards?: number; commandRingBytes?: number } & Partial<EngineLinkOptions>;

export class ClientRig {
  readonly shards: InThreadShard[];
  readonly views: Views;
  readonly clock = new ManualClock(START_MS);
  readonly link: EngineLink;
  readonly client: EngineClient;
  readonly fatal: unknown[] = [];
  #salt = 0;

  constructor(t: TestContext, { shards = 2, commandRingBytes, ...options }: RigOptions = {}) {
    const cells = createBalances(shards);
    this.shards = Array.from(
      { length: shards },
      (_, shard) => new InThreadShard(new Balances(cells, shard), commandRingBytes),
    );
    this.views = new Views(shards);
    this.link = new EngineLink({
      shards,
      views: this.views,
      clock: this.clock,
      onHandlerError: (error) => {
        throw error;
      },
      onFatal: (error) => this.fatal.push(error),
      ...options,
    });
    this.client = new EngineClient(this.link);
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
    const { commandRing, eventRing } = this.shards[index]!;
    return this.link.attach(index, commandRing, eventRing);
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
    const reply = await this.run(this.client.openMarket(terms, opening.status, opening.feeBps));
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
    const record = new Uint32Array(cmd.COMMAND_BYTES[cmd.COMMAND.PLACE] / 4);
    record[cmd.PLACE_SALT] = ++this.#salt;
    record[cmd.PLACE_KIND] = cmd.packKind(side, outcome, timeInForce, cmd.PLACE_BIT_AUTHORIZED);
    const [usdc, tokens] = [1_000_000 * ticks, 100_000_000];
    writeSafe(record, cmd.PLACE_MAKER_AMOUNT, side === SIDE.BUY ? usdc : tokens);
    writeSafe(record, cmd.PLACE_TAKER_AMOUNT, side === SIDE.BUY ? tokens : usdc);
    record[cmd.PLACE_FEE_BPS] = 50;
    return record;
  }

  place(
    record: Uint32Array,
    account = 1,
    market = 0,
  ): Promise<EngineReply & { status: number; slot: number; fills: number }> {
    return new Promise((resolve) => {
      const code = this.client.place(
        market,
        account,
        market,
        record,
        (reply, context) => {
          assert.equal(context, record, 'the context is the one that was given');
          const outcome = this.views.outcomes[reply.shard]!;
          resolve({ ...reply, status: outcome.status(), slot: outcome.slot, fills: outcome.fills });
        },
        record,
      );
      assert.equal(code, OK);
    });
  }

  /** The hash of an open order of shard 0. */
  hashOf(slot: number, shard = 0): Uint32Array {
    return this.views.orders[shard]!.hash.slice(slot * 8, slot * 8 + 8);
  }

  ask(send: (handler: (reply: EngineReply) => void) => number): Promise<EngineReply> {
    return new Promise((resolve) => {
      assert.equal(
        send((reply) => resolve({ ...reply })),
        OK,
      );
    });
  }
}
