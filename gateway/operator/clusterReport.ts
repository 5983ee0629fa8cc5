/**
 * The cluster as this member sees it: for `GET /admin/cluster` and the operations page. The state of the log is that of
 * the replication thread's last report, at most half a second old.
 * Owner: the gateway thread.
 */
import type { ClusterState } from '../../shared/api/cluster.ts';
import { highest, knownIn, newestOf, numbersIn } from '../../shared/base/formats.ts';
import { type DatabaseStatus, type LeadFormats, type MemberStatus, NO_FACTS } from '../../shared/wire/clusterStatus.ts';
import type { ReplicationStatus } from '../../shared/wire/threads.ts';
import type { MemberRole } from '../base/memberRole.ts';

type Reported = Pick<MemberRole, 'name' | 'epoch' | 'staleMs' | 'status'>;

/** A standby that was silent for longer could not lead. */
const ANSWERS_WITHIN_MS = 10_000;
/** The state before the replication thread has reported. */
const NOTHING_KNOWN: ReplicationStatus = {
  ...NO_FACTS,
  leader: null,
  waitingRows: 0,
  waitingBytes: 0,
  oldestWaitMs: 0,
  appendMs: 0,
  problem: null,
  filesProblem: '',
};

export function clusterState(member: string, { name, epoch, staleMs, status }: Reported): ClusterState {
  const known = status ?? NOTHING_KNOWN;
  const { leader, handOver, database, end } = known;
  return {
    member,
    role: name,
    epoch,
    stale_seconds: staleMs === null ? null : staleMs / 1000,
    leader: leader && { member: leader.holder, address: leader.address, epoch: leader.epoch },
    hand_over: handOver && { member: handOver.to, accepted: handOver.isAccepted },
    log: {
      first_position: known.start,
      last_position: end,
      bytes: known.logBytes,
      problem: known.problem,
      waiting_rows: known.waitingRows,
      waiting_bytes: known.waitingBytes,
      oldest_wait_seconds: Math.max(known.oldestWaitMs, 0) / 1000,
      append_seconds: known.appendMs / 1000,
    },
    formats: formatsOf(known.formats),
    members: known.members.map((each) => memberOf(each, known)),
    database: database && databaseOf(database),
  };
}

/** Members that have reported recently. */
export function answeringMembers(status: ReplicationStatus | null): readonly MemberStatus[] {
  return (status?.members ?? []).filter(({ silentMs }) => silentMs < ANSWERS_WITHIN_MS);
}

export function answeringStandbys(status: ReplicationStatus): number {
  return answeringMembers(status).filter(({ holder }) => holder !== status.leader?.holder).length;
}

/** Standbys of the database for which commits wait; null if the database user may not see them. */
export function syncedStandbys({ database }: ReplicationStatus): number | null {
  if (database === null || database.standbys.some(({ state }) => state === null)) return null;
  const isSynced = (syncState: string | null): boolean => syncState === 'sync' || syncState === 'quorum';
  return database.standbys.filter(({ state, syncState }) => state === 'streaming' && isSynced(syncState)).length;
}

function memberOf(
  { holder, address, version, formats, hasRoom, filesProblem, position, silentMs }: MemberStatus,
  { leader, end }: ReplicationStatus,
): ClusterState['members'][number] {
  const isLeader = holder === leader?.holder;
  return {
    member: holder,
    address,
    version,
    disk_low: !hasRoom,
    problem: filesProblem || null,
    reads: Object.entries(newestOf(knownIn(formats))).map(([layout, newest]) => ({ layout, newest })),
    role: isLeader ? 'leader' : 'standby',
    applied_position: position,
    behind_rows: isLeader ? null : Math.max(end - position, 0),
    silent_seconds: Math.max(silentMs, 0) / 1000,
  };
}

function formatsOf({ formats, raised }: LeadFormats): ClusterState['formats'] {
  const written = numbersIn(formats);
  return Object.entries(highest(written, numbersIn(raised))).map(([layout, next]) => {
    return { layout, written: written[layout] ?? null, next };
  });
}

function databaseOf({ server, standbys }: DatabaseStatus): NonNullable<ClusterState['database']> {
  return {
    server,
    standbys: standbys.map(({ name, state, syncState, behindBytes }) => {
      return {
        name,
        state,
        sync_state: syncState,
        behind_bytes: behindBytes === null ? null : Math.max(behindBytes, 0),
      };
    }),
  };
}
