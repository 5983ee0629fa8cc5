/** The rings that a front and a shard get, whichever of the two ends at any time (SHARDFRONTS-1 to 3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ShardNews } from '../../../../gateway/shardlink/shardNews.ts';
import { ShardFronts } from '../../../../gateway/wiring/shardFronts.ts';
import { createRingBuffer } from '../../../../shared/wire/ringLayout.ts';
import type { FrontRequest, FrontRings } from '../../../../shared/wire/threads.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

type Attach = Extract<FrontRequest, { readonly attach: unknown }>['attach'];

/** A thread of a shard as far as fronts see it: it answers requests when the test says so. */
class Shard {
  readonly bell = createRingBuffer(4096);
  readonly waiting: FrontRequest[] = [];
  /** By number: the rings of the fronts that it serves. */
  readonly serves = new Map<number, FrontRings>();
  readonly used = new Set<SharedArrayBuffer>();
}

class World {
  readonly fronts = new ShardFronts((shard, request) => this.shards.get(shard)!.waiting.push(request));
  readonly shards = new Map<number, Shard>();
  /** By front: its messages, and its rings at each shard. */
  readonly lanes = new Map<number, Map<number, FrontRings>>();
  readonly cutOff: number[] = [];

  startFront(front: number): void {
    const lanes = new Map<number, FrontRings>();
    this.lanes.set(front, lanes);
    const send = (message: ShardNews): void => {
      if ('lost' in message) assert.ok(lanes.delete(message.lost), 'SHARDFRONTS-3');
      else {
        assert.equal(lanes.has(message.attached), false, 'SHARDFRONTS-3');
        assert.equal(message.rings.bell, this.shards.get(message.attached)!.bell, 'the bell is that of the thread');
        lanes.set(message.attached, message.rings);
      }
    };
    this.fronts.add(front, { send, onCutOff: () => this.cutOff.push(front) });
  }

  endFront(front: number): void {
    this.lanes.delete(front);
    this.fronts.remove(front);
  }

  startShard(shard: number): void {
    const thread = new Shard();
    this.shards.set(shard, thread);
    this.fronts.shardReady(shard, thread.bell);
  }

  endShard(shard: number): void {
    this.shards.delete(shard);
    this.fronts.shardLost(shard);
  }

  /** The shard reads one message. */
  answer(shard: number): void {
    const thread = this.shards.get(shard);
    const request = thread?.waiting.shift();
    if (thread === undefined || request === undefined) return;
    if ('detach' in request) {
      assert.ok(thread.serves.delete(request.detach), 'what is let go was attached before');
      return;
    }
    this.#attach(thread, request.attach);
    this.fronts.attached(request.attach.front, [new ArrayBuffer(8)]);
  }

  #attach({ serves, used }: Shard, { front, rings }: Attach): void {
    for (const ring of [rings.commandRing, rings.eventRing]) {
      assert.equal(used.has(ring), false, 'SHARDFRONTS-1: no ring is used twice');
      used.add(ring);
    }
    serves.set(front, rings);
  }
}

test('whichever threads end and start, each running pair has one pair of rings that both know', () => {
  const seed = seedOr(1);
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const world = new World();
  for (let act = 0; act < 2000; act++) {
    const [front, shard] = [1 + random.below(3), random.below(3)];
    switch (random.below(6)) {
      case 0:
        if (world.lanes.has(front)) world.endFront(front);
        else world.startFront(front);
        break;
      case 1:
        if (world.shards.has(shard)) world.endShard(shard);
        else world.startShard(shard);
        break;
      default:
        world.answer(shard);
    }
    if (!random.chance(5)) continue;
    for (const index of world.shards.keys()) while (world.shards.get(index)!.waiting.length > 0) world.answer(index);
    for (const [index, { serves }] of world.shards) {
      const lanes = [...world.lanes.values()].map((each) => each.get(index)!);
      const rings = (each: FrontRings): unknown[] => [each.commandRing, each.eventRing];
      assert.deepEqual(new Set([...serves.values()].flatMap(rings)), new Set(lanes.flatMap(rings)));
      assert.equal(serves.size, world.lanes.size);
    }
  }
});

test('a front that a shard has cut off is ended once, and a message about a former one ends no other', () => {
  const world = new World();
  world.startShard(0);
  world.startFront(1);
  world.answer(0);
  const [number] = world.shards.get(0)!.serves.keys();
  world.fronts.cutOff(number!);
  assert.deepEqual(world.cutOff, [1]);
  world.endFront(1);
  world.startFront(1);
  world.fronts.cutOff(number!);
  world.fronts.attached(number!, []);
  assert.deepEqual([world.cutOff, world.lanes.get(1)!.size], [[1], 0]);
});
