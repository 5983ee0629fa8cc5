/** Private frames for tests of the log: a frame is recognised by its trade sequence, which the test chooses. */
import { join } from 'node:path';
import { PrivateLog, type PrivateLogOptions } from '../../gateway/stream/privateLog.ts';
import { PrivateReplay } from '../../gateway/stream/privateReplay.ts';
import { decode } from '../../shared/wire/layout.ts';
import * as prv from '../../shared/wire/privateRecord.ts';
import { writeSafe } from '../../shared/wire/record.ts';

type DecodedFrame = { userSequence: number; shard: number; shardSequence: number; name: number };

export function openLog(directory: string, options: Partial<PrivateLogOptions> = {}): PrivateLog {
  return new PrivateLog({ directory: join(directory, 'log'), shards: 2, ...options });
}

export function writeFrame({ words, word }: prv.RecordView, shard: number, shardSequence: number, name: number): void {
  words[word + prv.PRIVATE_FRAME.kind] = prv.PRIVATE_KIND.FILL;
  words[word + prv.PRIVATE_FRAME.shard] = shard;
  writeSafe(words, word + prv.PRIVATE_FRAME.shardSequence, shardSequence);
  writeSafe(words, word + prv.FILL_FRAME.tradeSequence, name);
}

/** All frames that an account may request after this number. */
export function replayed(log: PrivateLog, account: number, after = 0): DecodedFrame[] {
  const replay = new PrivateReplay(log, account, after);
  const frames: DecodedFrame[] = [];
  const collect = ({ words, word }: prv.RecordView): void => {
    const { userSequence, shard, shardSequence, tradeSequence: name } = decode(prv.FILL_FRAME, words, word);
    frames.push({ userSequence, shard, shardSequence, name });
  };
  while (!replay.step(collect));
  return frames;
}
