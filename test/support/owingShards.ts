/** Keeps what shards are owed, without rings: the test says when unsent commands are tried again, as the link does. */
import type { OutboxEngine } from '../../gateway/shardlink/outbox.ts';
import { Owed } from '../../gateway/shardlink/owed.ts';
import { RecordResult } from '../../gateway/shardlink/recordResult.ts';
import type { ReplyHandler } from '../../gateway/shardlink/reply.ts';
import { OK } from '../../shared/base/errors.ts';

const result = new RecordResult();

export class OwingShards implements OutboxEngine {
  readonly #owed: readonly Owed[];

  constructor(shards: number) {
    this.#owed = Array.from({ length: shards }, () => new Owed());
  }

  owe(shard: number, subject: string, send: () => number, isRepeated = false): void {
    this.#owed[shard]!.add(subject, () => send() === OK);
    if (!isRepeated) this.#owed[shard]!.pay();
  }

  /** A later command is about to be sent. */
  pay(): void {
    for (const owed of this.#owed) owed.pay();
  }
}

/** Calls the handler with the reply of a shard, which has this code and cancelled this many orders. */
export function reply<C>(handler: ReplyHandler<C>, context: C, shard: number, code: number, a = 0): void {
  handler({ code, shard, shardSequence: 1, a, b: 0, c: 0, result }, context);
}
