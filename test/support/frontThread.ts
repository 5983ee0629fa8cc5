/**
 * A front thread of a test: the real link, client and views over its own rings to a shard's thread. It sends prepared
 * signed orders, cancels some of them, and shows its views.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { ShardClient } from '../../gateway/shardlink/client.ts';
import { ShardLink } from '../../gateway/shardlink/link.ts';
import type { ShardReply } from '../../gateway/shardlink/reply.ts';
import type { ShardNews } from '../../gateway/shardlink/shardNews.ts';
import { Views } from '../../gateway/shardlink/views.ts';

import { systemClock } from '../../shared/base/clock.ts';
import { OK } from '../../shared/base/errors.ts';
import { Random } from './random.ts';
import { RecordWriter } from './recordWriter.ts';
import { stateOfViews } from './viewsState.ts';

/** An order for market 0, as the body of a PLACE command. */
export type PreparedOrder = { readonly account: number; readonly record: Uint32Array };

export type FrontOptions = {
  readonly orders: readonly PreparedOrder[];
  readonly seed: number;
  /** One cell: the number of orders that are in the ring. */
  readonly sent: SharedArrayBuffer;
};

export type FrontOrder =
  /** Sends this many orders, from the first one not sent yet. */
  | { readonly send: number }
  /** Show the views once they have this record. */
  | { readonly show: number }
  | 'stop';

export type FrontNews =
  | { readonly attached: true }
  /** The number of replies so far: as many as commands. */
  | { readonly replied: number; readonly sentCommands: number; readonly codes: readonly number[] }
  | { readonly views: unknown };

function run(options: FrontOptions): void {
  const port = parentPort!;
  const views = new Views(1);
  const fail = (error: unknown): never => {
    throw error;
  };
  const link = new ShardLink({
    ...{ shards: 1, views, follower: null, waitingPlacements: 4096, clock: systemClock, isFront: true },
    ...{ onHandlerError: fail, onFatal: fail },
  });
  const sender = new Sender(new ShardClient(link), views, options);
  port.on('message', (message: ShardNews | FrontOrder) => {
    if (message === 'stop') {
      link.stop();
      port.close();
    } else if ('attached' in message) {
      void link.attach(message.attached, message.rings, message.state).then(() => post({ attached: true }));
    } else if ('lost' in message) {
      link.shardLost(message.lost);
    } else if ('send' in message) {
      void sender.send(message.send).then(post);
    } else {
      void show(views, message.show).then(post);
    }
  });
}

async function show(views: Views, shardSequence: number): Promise<FrontNews> {
  while (views.appliedSequence(0) < shardSequence) await nextTurn();
  return { views: stateOfViews(views) };
}

function post(news: FrontNews): void {
  parentPort!.postMessage(news);
}

class Sender {
  readonly #client: ShardClient;
  readonly #views: Views;
  readonly #random: Random;
  readonly #orders: readonly PreparedOrder[];
  readonly #sent: Int32Array;
  readonly #open: { account: number; hash: Uint32Array }[] = [];

  constructor(client: ShardClient, views: Views, { orders, seed, sent }: FrontOptions) {
    this.#client = client;
    this.#views = views;
    this.#random = new Random(seed);
    this.#orders = orders;
    this.#sent = new Int32Array(sent);
  }

  async send(count: number): Promise<FrontNews> {
    const codes: number[] = [];
    let replied = 0;
    let sentCommands = 0;
    const countReply = (): void => void replied++;
    for (let left = count; left > 0; left--) {
      const index = Atomics.load(this.#sent, 0);
      const { account, record } = this.#orders[index]!;
      const onReply = (reply: ShardReply, context: unknown): void => {
        assert.equal(context, index, 'a reply has the context of its command');
        codes.push(reply.code);
        countReply();
        this.#noteOpen(account, reply);
      };
      while (this.#client.place(0, account, 0, new RecordWriter(record), onReply, index) !== OK) await nextTurn();
      Atomics.store(this.#sent, 0, index + 1);
      sentCommands++;
      const order = this.#random.chance(30) ? this.#open.pop() : undefined;
      if (order !== undefined && this.#client.cancel(0, order.account, order.hash, countReply, null) === OK)
        sentCommands++;
      if (this.#random.chance(40)) await nextTurn();
    }
    while (replied < sentCommands) await nextTurn();
    return { replied, sentCommands, codes };
  }

  #noteOpen(account: number, { code, result }: ShardReply): void {
    if (code !== OK) return;
    this.#open.push({ account, hash: this.#views.orders[0]!.hashOf(result.slot).slice() });
  }
}

if (parentPort !== null) run(workerData as FrontOptions);
