/** Private frames for tests of what keeps them: each is known again by its trade sequence, which the test chooses. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrivateLog, type PrivateLogOptions } from '../../gateway/stream/privateLog.ts';
import { PrivateReplay } from '../../gateway/stream/privateReplay.ts';
import * as prv from '../../shared/privateRecord.ts';
import { readSafe, writeSafe } from '../../shared/record.ts';

export type Told = { userSequence: number; shard: number; shardSequence: number; name: number };

export function privateDirectory(scope: { after(cleanUp: () => void): void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'private-'));
  scope.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function openLog(directory: string, options: Partial<PrivateLogOptions> = {}): PrivateLog {
  return new PrivateLog({ directory: join(directory, 'log'), shards: 2, ...options });
}

export function writeFrame({ words, word }: prv.RecordPlace, shard: number, shardSequence: number, name: number): void {
  words[word + prv.PRV_KIND] = prv.PRIVATE_KIND.FILL;
  words[word + prv.PRV_SHARD] = shard;
  writeSafe(words, word + prv.PRV_SHARD_SEQUENCE, shardSequence);
  writeSafe(words, word + prv.PRV_TRADE_SEQUENCE, name);
}

/** Everything an account may ask for behind this number. */
export function replayed(log: PrivateLog, account: number, after = 0): Told[] {
  const replay = new PrivateReplay(log, account, after);
  const told: Told[] = [];
  const take = ({ words, word }: prv.RecordPlace): void => {
    told.push({
      userSequence: readSafe(words, word + prv.PRV_USER_SEQUENCE),
      shard: words[word + prv.PRV_SHARD]!,
      shardSequence: readSafe(words, word + prv.PRV_SHARD_SEQUENCE),
      name: readSafe(words, word + prv.PRV_TRADE_SEQUENCE),
    });
  };
  while (!replay.step(take));
  return told;
}
