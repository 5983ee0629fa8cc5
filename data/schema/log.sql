-- The replicated log of a cluster of exchanges (engine/replication/README.md), in PostgreSQL. It runs at each start, and
-- changes nothing where everything is there. Several clusters may share a database.

CREATE TABLE IF NOT EXISTS exchange_leader (
  cluster text PRIMARY KEY,
  epoch bigint NOT NULL,
  holder text NOT NULL,
  address text NOT NULL,
  expires_at timestamptz NOT NULL,
  -- An update of a column in a unique key locks the row against FOR KEY SHARE, and one of the other columns does not.
  -- So taking the lease waits for every insert of the leader before, and renewing it never waits for an insert.
  UNIQUE (cluster, epoch)
);
-- A random number of the lead. Of two leads with the same epoch, which a failover of the database to a server that
-- lacks the first one makes possible, the log belongs to one.
ALTER TABLE exchange_leader ADD COLUMN IF NOT EXISTS lead bigint NOT NULL DEFAULT 0;
-- The formats that the newest lead writes, and those that later ones write at least (shared/base/formats.ts).
ALTER TABLE exchange_leader ADD COLUMN IF NOT EXISTS formats text NOT NULL DEFAULT '';
ALTER TABLE exchange_leader ADD COLUMN IF NOT EXISTS raised text NOT NULL DEFAULT '';
-- The run of the database on which it was last led: from one start or promotion of a server to the next.
ALTER TABLE exchange_leader ADD COLUMN IF NOT EXISTS run text NOT NULL DEFAULT '';

CREATE TABLE IF NOT EXISTS exchange_log (
  cluster text NOT NULL,
  position bigint NOT NULL,
  epoch bigint NOT NULL,
  stream integer NOT NULL,
  sequence bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (cluster, position),
  UNIQUE (cluster, stream, sequence)
);
ALTER TABLE exchange_log ADD COLUMN IF NOT EXISTS lead bigint NOT NULL DEFAULT 0;
-- Rows are dense already: compressing them takes the processor longer than writing them.
ALTER TABLE exchange_log ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS exchange_member (
  cluster text NOT NULL,
  holder text NOT NULL,
  address text NOT NULL,
  position bigint NOT NULL,
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (cluster, holder)
);

ALTER TABLE exchange_member ADD COLUMN IF NOT EXISTS version text NOT NULL DEFAULT '';
-- False: its disk is nearly full.
ALTER TABLE exchange_member ADD COLUMN IF NOT EXISTS has_room boolean NOT NULL DEFAULT true;
-- The rows up to `position` are durable there, a leader's for a minute; those up to `applied` are there.
ALTER TABLE exchange_member ADD COLUMN IF NOT EXISTS applied bigint NOT NULL DEFAULT 0;
-- Why its files do not agree with the log; empty: they do.
ALTER TABLE exchange_member ADD COLUMN IF NOT EXISTS files_problem text NOT NULL DEFAULT '';
-- The formats that it knows.
ALTER TABLE exchange_member ADD COLUMN IF NOT EXISTS formats text NOT NULL DEFAULT '';
-- The run of the database on which it has found all that it has seen held.
ALTER TABLE exchange_member ADD COLUMN IF NOT EXISTS run text NOT NULL DEFAULT '';

-- The last hand-over that an operator has asked for. It is about one lead, and for a short time.
CREATE TABLE IF NOT EXISTS exchange_handover (
  cluster text PRIMARY KEY,
  epoch bigint NOT NULL,
  holder text NOT NULL,
  is_forced boolean NOT NULL,
  is_accepted boolean NOT NULL,
  expires_at timestamptz NOT NULL
);

-- All members of a cluster have the same: the number of shards, the chain, the layout of this log. `log` is the id of the
-- log, a random text: another one is of another log, whatever its name.
CREATE TABLE IF NOT EXISTS exchange_fact (
  cluster text NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (cluster, name)
);

-- Each lead, and where it was taken: a log that was restored, or of which a lagging standby was promoted, lacks some.
CREATE TABLE IF NOT EXISTS exchange_lead (
  cluster text NOT NULL,
  lead bigint NOT NULL,
  epoch bigint NOT NULL,
  holder text NOT NULL,
  -- The last position before it.
  start bigint,
  system text NOT NULL,
  timeline integer NOT NULL,
  PRIMARY KEY (cluster, lead)
);
-- The run of the database on which it was taken: what was sent there before and is not in the log never will be.
ALTER TABLE exchange_lead ADD COLUMN IF NOT EXISTS run text NOT NULL DEFAULT '';

-- What a log goes on from that was founded with what a member had: the last sequence of each stream, and its chain value.
CREATE TABLE IF NOT EXISTS exchange_base (
  cluster text NOT NULL,
  stream integer NOT NULL,
  sequence bigint NOT NULL,
  head text NOT NULL,
  PRIMARY KEY (cluster, stream)
);

-- What a member has whose start was refused, and why: what an operator founds or refills the log from, or gives up.
CREATE TABLE IF NOT EXISTS exchange_head (
  cluster text NOT NULL,
  holder text NOT NULL,
  log text NOT NULL,
  reason text NOT NULL,
  heads text NOT NULL,
  -- A digest of `heads`, and those of other members whose heads are all in this one's files.
  digest text NOT NULL,
  contains text NOT NULL,
  -- The log that was founded from these heads, or whose founder contains them.
  founder text NOT NULL DEFAULT '',
  contained text NOT NULL DEFAULT '',
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (cluster, holder)
);

-- A member that joins asks for a copy of another one's files, and one of the others gives it, in parts
-- (engine/replication/join.ts). A failover of the database takes both tables away, and the copy is begun anew.
CREATE UNLOGGED TABLE IF NOT EXISTS exchange_join (
  cluster text NOT NULL,
  holder text NOT NULL,
  attempt text NOT NULL,
  asked_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  giver text NOT NULL,
  given_at timestamptz NOT NULL,
  problem text NOT NULL,
  PRIMARY KEY (cluster, holder)
);
-- Files of a later format are of no use to it.
ALTER TABLE exchange_join ADD COLUMN IF NOT EXISTS files integer NOT NULL DEFAULT 0;
CREATE UNLOGGED TABLE IF NOT EXISTS exchange_copy (
  cluster text NOT NULL,
  attempt text NOT NULL,
  part bigint NOT NULL,
  name text NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (cluster, attempt, part)
) WITH (
  -- Parts are taken away as they are read.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000
);
ALTER TABLE exchange_copy ALTER COLUMN bytes SET STORAGE EXTERNAL;
