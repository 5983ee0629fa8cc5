/**
 * The first part of the exchange: all data of the gateway thread. It opens durable data (control.db, the log of private
 * frames, read.db through the query pool); the views are empty until the shards have recovered.
 * Owner: the gateway thread.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert } from '../../shared/base/assert.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { accessProblem, refusedFile } from '../../shared/base/fileAccess.ts';
import { floorOf } from '../../shared/base/floors.ts';
import { historyPlaceProblem } from '../../shared/base/historyPlace.ts';
import { keepRoom } from '../../shared/base/keptRoom.ts';
import { comesBackWith } from '../../shared/base/restored.ts';
import { errorOf } from '../../shared/base/thrown.ts';
import type { AuditHead } from '../../shared/crypto/auditChain.ts';
import { Progress } from '../../shared/wire/progress.ts';
import { createShardMeters, ShardMeters } from '../../shared/wire/shardMeters.ts';
import { createSpotMemory, SpotCounts } from '../../shared/wire/spotLayout.ts';
import type { Config } from '../base/config.ts';
import { fallbacks } from '../base/fallbacks.ts';
import { journalPath } from '../base/journalFiles.ts';
import type { Logger } from '../base/log.ts';
import type { Member } from '../base/member.ts';
import { memoryUse } from '../base/memoryUse.ts';
import { StartError } from '../base/startError.ts';
import { SETTLEMENT_FILE } from '../chain/settlementMode.ts';
import { Volumes } from '../markets/volumes.ts';
import { AuditLog } from '../operator/auditLog.ts';
import { ControlCopies } from '../operator/controlCopies.ts';
import type { Answers } from '../shardlink/answers.ts';
import { Views } from '../shardlink/views.ts';
import { PrivateLog } from '../stream/privateLog.ts';
import { CatalogFeed } from './catalogFeed.ts';
import { type Control, openControl } from './control.ts';
import { GatewayRecords, type SettlementStream } from './gatewayRecords.ts';
import { QueryPool } from './queryPool.ts';
import { explain } from './readiness.ts';

const CONTROL_FILE = 'control.db';

type ControlRole = Parameters<typeof openControl>[1];

export class Stores {
  readonly control: Control;
  /** True if the data directory had neither accounts nor markets when it was opened. */
  readonly isNew: boolean;
  readonly views: Views;
  /** Progress of the shards and the projector: the memory that all threads share, and this thread's reader. */
  readonly progressMemory: SharedArrayBuffer;
  readonly progress: Progress;
  /** Measurements that the shards take of themselves: shared memory, and this thread's reader. */
  readonly metersMemory: SharedArrayBuffer;
  readonly shardMeters: readonly ShardMeters[];
  /** Signature checks that the shards show to the spot checker: shared memory, and this thread's reader. */
  readonly spotMemory: SharedArrayBuffer;
  /** Memory use of the process and its threads. */
  readonly memory = memoryUse;
  readonly spotCounts: SpotCounts;
  readonly queries: QueryPool;
  readonly catalogFeed: CatalogFeed;
  readonly volumes: Volumes;
  readonly privateLog: PrivateLog;
  /** Paths by shard. */
  readonly journalPaths: readonly string[];
  readonly readDbPath: string;
  readonly answersPath: string;
  /** Only with a chain. */
  readonly settlementDbPath: string;

  readonly audit: AuditLog;
  #copies: ControlCopies | null = null;

  /** @param cluster null: this exchange is one process */
  constructor(config: Config, clock: Clock, log: Logger, cluster: ControlRole = null) {
    const { dataDir } = config;
    makeDataDir(dataDir);
    const refused = refusedFile(dataDir);
    if (refused !== null) throw new StartError(refused);
    const { historyDir, backupTarget } = config;
    const misplaced = historyDir === null ? null : historyPlaceProblem(historyDir, dataDir, backupTarget);
    if (misplaced !== null) throw new StartError(misplaced);
    this.control = openControl(config, cluster, (text) => fallbacks.note(log, 'control_log', text));
    this.#sayRestored(log);
    this.#sayDamaged(log);
    const { shards, accounts, catalog, orderGroups } = this.control;
    this.audit = openAudit(config, this.control, clock, log, cluster !== null);
    this.isNew = accounts.count === 0 && catalog.markets.length === 0;
    this.views = new Views(shards);
    this.progressMemory = Progress.create(shards);
    this.progress = new Progress(this.progressMemory);
    // No journal is trimmed before settlement has followed it.
    if (config.chain !== null) for (let shard = 0; shard < shards; shard++) this.progress.setSettled(shard, 0);
    // Nor before the public history has.
    if (historyDir !== null) for (let shard = 0; shard < shards; shard++) this.progress.setRecorded(shard, 0);
    this.metersMemory = createShardMeters(shards);
    this.shardMeters = Array.from({ length: shards }, (_, shard) => new ShardMeters(this.metersMemory, shard));
    this.spotMemory = createSpotMemory(shards);
    this.spotCounts = new SpotCounts(this.spotMemory);
    this.journalPaths = Array.from({ length: shards }, (_, shard) => journalPath(dataDir, shard));
    this.readDbPath = join(dataDir, 'read.db');
    this.settlementDbPath = join(dataDir, SETTLEMENT_FILE);
    this.answersPath = join(dataDir, 'idempotency.db');
    this.queries = new QueryPool({
      readDbPath: this.readDbPath,
      progress: this.progressMemory,
      settlementDbPath: config.chain === null ? null : this.settlementDbPath,
      lastAcknowledged: (account, shard) => this.views.lastAcknowledged(account, shard),
      lastMarketChange: (shard) => this.views.lastMarketChange(shard),
      inGroup: (record, group) => orderGroups.withGroupName(record, group),
      onUnreadArchive: (path) => fallbacks.noteArchive(log, path),
      paces: config.rateLimits,
    });
    this.catalogFeed = new CatalogFeed(catalog, this.progress);
    this.volumes = new Volumes(this.queries, clock);
    this.privateLog = new PrivateLog({
      directory: join(dataDir, 'private'),
      shards,
      floor: floorOf(this.control.platform.floors),
    });
  }

  /**
   * In a cluster: the answers are open too, and rows may come.
   * @param onRefused called if a row contradicts the data of this machine
   */
  join(answers: Answers, settlement: SettlementStream | null, onRefused: (why: string) => void): GatewayRecords {
    const { changes, records } = this.control;
    assert(records !== null, 'stores: only a member of a cluster has records');
    return new GatewayRecords({ control: records, changes, answers, audit: this.audit, settlement, onRefused });
  }

  /** At every start until the exchange is opened, logs what has come back with a directory from a backup. */
  #sayRestored(log: Logger): void {
    const { restored } = this.control.platform;
    if (restored !== null) for (const line of comesBackWith(restored)) log.warn(line);
  }

  /** The exchange runs with damaged rows: most concern one account, and a stop would concern all. */
  #sayDamaged(log: Logger): void {
    for (const row of this.control.damagedRows) {
      log.error(
        { row },
        'a row of control.db is not as it was written: see "Rows are not as they were written" in incidents.md',
      );
    }
  }

  /** From now on backups can be made beside this process. @param member null without a cluster */
  giveControl(clock: Clock, log: Logger, member: Pick<Member, 'role' | 'handedOn'> | null): void {
    const ends = (): readonly number[] => {
      const handedOn = (shard: number): number => (member?.role.isLeading === false ? member.handedOn(shard) : 0);
      return this.journalPaths.map((_, shard) => Math.max(this.progress.committed(shard), handedOn(shard)));
    };
    const { copyTo } = this.control;
    this.#copies = new ControlCopies({ directory: dirname(this.readDbPath), copyTo, ends, clock, log });
    this.#copies.start();
  }

  /**
   * A stop begins: no copy is given any more, and the reserved disk space is left to the next start, on a full disk
   * too.
   */
  keepControl(): void {
    this.#copies?.stop();
    this.#keepRooms();
  }

  #keepRooms(): void {
    const control = join(dirname(this.readDbPath), CONTROL_FILE);
    const others = [this.answersPath, this.readDbPath, this.settlementDbPath];
    for (const path of [control, ...this.journalPaths, ...others]) keepRoom(path);
  }

  async close(): Promise<void> {
    await this.queries.close();
    await this.audit.stop();
    this.control.changes.close();
    this.control.database.close();
  }
}

function openAudit(
  { dataDir }: Config,
  { auditKey, platform }: Control,
  clock: Clock,
  log: Logger,
  isFollowing: boolean,
): AuditLog {
  const knownHead = {
    read: () => platform.auditHead,
    write: (head: AuditHead) => platform.setAuditHead(head),
  };
  const knownShared = {
    read: () => platform.auditShared,
    write: (sequence: number) => platform.setAuditShared(sequence),
  };
  const path = join(dataDir, 'audit.log');
  try {
    return new AuditLog({ path, key: auditKey, clock, log, knownHead, knownShared, isFollowing });
  } catch (error) {
    const access = accessProblem(path, error);
    explain(access === null ? errorOf(error) : new Error(access));
  }
}

function makeDataDir(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    explain(errorOf(error));
  }
}
