/** One server of the database of a cluster, as it is seen from this machine (clusterDoctor.ts). */
import type { Clock } from '../../shared/base/clock.ts';
import { errorCode, errorMessage } from '../../shared/base/thrown.ts';
import type { DatabaseStandby, LeadFormats, MemberStatus } from '../../shared/wire/clusterStatus.ts';
import { clientOf, giveUp } from '../replication/connection.ts';
import type { Lease } from '../replication/log.ts';
import { SQL } from '../replication/statements.ts';

type Client = ReturnType<typeof clientOf>;

type ClusterLook = {
  /** Null: no member leads. */
  readonly leader: string | null;
  readonly epoch: number;
  readonly members: readonly MemberStatus[];
  readonly facts: Readonly<Record<string, string>>;
  readonly formats: LeadFormats;
  /** The members whose last start was refused, and why. */
  readonly refused: readonly RefusedMember[];
};

type RefusedMember = { readonly holder: string; readonly reason: string; readonly agoMs: number };

export type SeenServer = {
  readonly version: string;
  readonly isStandby: boolean;
  readonly isEncrypted: boolean;
  readonly answerMs: number;
  /** Its clock less that of this machine. */
  readonly clockMs: number;
  /** Of synchronous_standby_names. */
  readonly names: string;
  /** Its settings that keep what is committed through a power cut; `on` or `off`. */
  readonly fsync: string;
  readonly fullPages: string;
  /** `on`: it takes no rows at present. */
  readonly readOnly: string;
  readonly standbys: readonly DatabaseStandby[];
  /** Each right that the user lacks, in words. */
  readonly rights: readonly string[];
  /** Null: the database has no such cluster. */
  readonly cluster: ClusterLook | null;
};

export type ServerLook = SeenServer | { readonly problem: string };

const WITHIN_MS = 5000;
/** An error of PostgreSQL: the user may not read it. */
const INSUFFICIENT_PRIVILEGE = '42501';

const SERVER = `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS "isStandby",
  coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted",
  (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs",
  current_setting('synchronous_standby_names') AS names, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS "fullPages", current_setting('default_transaction_read_only') AS "readOnly"`;

/** A start makes the tables, and changes those of an older version: their owner may. */
const RIGHTS = `SELECT has_schema_privilege(current_schema(), 'CREATE') AS "mayCreate",
  (SELECT count(*)::int FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'exchange\\_%') AS tables,
  (SELECT count(*)::int FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'exchange\\_%'
     AND pg_has_role(tableowner, 'USAGE')) AS owned`;

export async function lookAt(server: string, cluster: string, clock: Clock): Promise<ServerLook> {
  const client = clientOf(server, 'read');
  const timer = setTimeout(() => giveUp(client, new Error(`no answer within ${WITHIN_MS / 1000} s`)), WITHIN_MS);
  try {
    await client.connect();
    return await seenOf(client, cluster, clock);
  } catch (error) {
    // An error of the network has several causes and no message of its own.
    const message = errorMessage(error);
    const code = errorCode(error);
    return { problem: message || code || 'no answer' };
  } finally {
    clearTimeout(timer);
    giveUp(client);
  }
}

async function seenOf(client: Client, cluster: string, clock: Clock): Promise<SeenServer> {
  await client.query('SELECT 1');
  const startMs = performance.now();
  const sentMs = clock.nowMs();
  const [about] = (await client.query<Omit<SeenServer, 'clockMs'> & { nowMs: number }>(SERVER)).rows;
  const answerMs = performance.now() - startMs;
  const { version, nowMs, isStandby, ...rest } = about;
  const standbys = isStandby ? [] : (await client.query<DatabaseStandby>(SQL.standbys.text)).rows;
  return {
    ...rest,
    version: version.split(' ')[0],
    isStandby,
    answerMs,
    clockMs: nowMs - (sentMs + answerMs / 2),
    standbys,
    rights: isStandby ? [] : await rightsOf(client),
    cluster: await clusterOf(client, cluster).catch((error: NodeJS.ErrnoException) => {
      if (error.code === INSUFFICIENT_PRIVILEGE) return null;
      throw error;
    }),
  };
}

async function rightsOf(client: Client): Promise<string[]> {
  const [found] = (await client.query<{ mayCreate: boolean; tables: number; owned: number }>(RIGHTS)).rows;
  const { mayCreate, tables, owned } = found;
  if (owned < tables) return ['does not own the tables of the log: ALTER TABLE … OWNER TO it'];
  return mayCreate ? [] : ['may not make tables: GRANT CREATE ON SCHEMA public to it'];
}

async function clusterOf(client: Client, name: string): Promise<ClusterLook | null> {
  const [there] = (await client.query<{ name: string | null }>("SELECT to_regclass('exchange_leader')::text AS name"))
    .rows;
  if (there.name === null) return null;
  const ask = async <Row extends object>(text: string): Promise<Row[]> => (await client.query<Row>(text, [name])).rows;
  const [lease] = await ask<Lease>(SQL.lease.text);
  if (lease === undefined) return null;
  // A database that no member of this version has opened has no such table.
  const refused = await ask<RefusedMember>(SQL.heads.text).catch(() => []);
  const facts = await ask<{ name: string; value: string }>(SQL.facts.text);
  return {
    leader: lease.expiresInMs > 0 && lease.holder !== '' ? lease.holder : null,
    epoch: Number(lease.epoch),
    formats: { formats: lease.formats, raised: lease.raised },
    refused,
    members: await ask<MemberStatus>(SQL.members.text),
    facts: Object.fromEntries(facts.map((fact) => [fact.name, fact.value])),
  };
}
