/**
 * The first steps of a start in a cluster: opens the replicated log and brings the files of this member into agreement
 * with it, before anything else opens them.
 * Owner: the gateway thread.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { takeRoomsBack } from '../../shared/base/keptRoom.ts';
import { type DirectoryToPrepare, recordFilesOf } from '../../shared/wire/joining.ts';
import { STREAM } from '../../shared/wire/replication.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/log.ts';
import { Member, shardsOf } from '../base/member.ts';
import { JoiningDoor } from './joiningDoor.ts';
import { COMMAND_RING_BYTES } from './shardThreads.ts';
import type { Stores } from './stores.ts';

type MembershipOptions = {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called if the process has to end and start again. */
  readonly onFatal: (error: unknown) => void;
};

/** Brings the journals into agreement with the log, once they are open and before any shard starts. */
type Rejoin = (stores: Stores) => Promise<void>;

/**
 * Opens this member. Null without a cluster. When it resolves, the files of this member agree with the log; they are
 * opened after that.
 */
export async function openMember(options: MembershipOptions): Promise<[Member | null, Rejoin]> {
  const { config, clock, log, onFatal } = options;
  const { cluster } = config;
  if (cluster === null) return [null, async () => {}];
  const door = await openJoiningDoor(config);
  const onLost = (reason: string): void => onFatal(new Error(reason));
  const onNews = (text: string): void => {
    if (door !== null) door.said = text;
  };
  const shards = shardsOf(config);
  const commandRingBytes = COMMAND_RING_BYTES;
  const member = await Member.open({ config, cluster, shards, commandRingBytes, clock, log, onLost, onNews });
  takeRoomsBack(config.dataDir);
  await member.prepare(directoryOf(config, shards));
  return [
    member,
    async ({ control, journalPaths }) => {
      await member.rejoin({ journalKey: control.journalKey, journalPaths });
      await door?.close();
    },
  ];
}

/** Null if the system chooses the port to listen at: no probe could find it yet. */
async function openJoiningDoor({ adminDoor }: Config): Promise<JoiningDoor | null> {
  return adminDoor === null || adminDoor.port === 0 ? null : JoiningDoor.open(adminDoor);
}

function directoryOf({ dataDir, masterKey }: Config, shards: number): DirectoryToPrepare {
  assert(masterKey !== null, 'membership: readCluster wants a MASTER_KEY');
  return { directory: dataDir, shards, masterKey, records: recordFilesOf(dataDir) };
}

/** False for the first start of the first member: its stores make the data that the others get from the log. */
export function isOfCluster({ ends }: Member, { dataDir }: Config): boolean {
  // Rows that every member has are trimmed: a log without rows says nothing about a member that belonged to it before.
  return existsSync(join(dataDir, 'control.db')) || ends.some(({ stream }) => stream === STREAM.CONTROL);
}
