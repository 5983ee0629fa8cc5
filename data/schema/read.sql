-- read.db: what the journals say, laid out for questions. The projector alone writes it and can make it anew from the
-- journals at any time, so it has no migrations: a changed layout is a new READ_DB_VERSION (engine/projector/readDb.ts)
-- and a rebuild.
--
-- Ids are the 16 bytes of a time-ordered UUID: comparing them compares times, so the primary keys of orders and trades
-- are also their order in time. Enumerations are the numbers of shared/codes.ts. Lots, ticks, *_micro and *_atomic are
-- the engine's integers; *_ms are Unix milliseconds.

-- How far each journal has been followed, and the chain value it had there (engine/journal.ts).
CREATE TABLE cursors (
  shard      INTEGER PRIMARY KEY,
  sequence   INTEGER NOT NULL,
  chain_low  INTEGER NOT NULL,
  chain_high INTEGER NOT NULL
) STRICT;

CREATE TABLE markets (
  market         INTEGER PRIMARY KEY,
  uuid           BLOB    NOT NULL UNIQUE,
  ticks_per_unit INTEGER NOT NULL,
  volume_micro   INTEGER NOT NULL -- of all its trades, at the taker's prices; may pass 2^53
) STRICT;

CREATE TABLE orders (
  id                    BLOB    PRIMARY KEY,
  hash                  BLOB    NOT NULL, -- found by order_hashes
  account               INTEGER NOT NULL,
  market                INTEGER NOT NULL REFERENCES markets,
  shard                 INTEGER NOT NULL,
  slot                  INTEGER,          -- the shard's name for the order while it is open, null afterwards
  side                  INTEGER NOT NULL,
  outcome               INTEGER NOT NULL,
  limit_ticks           INTEGER NOT NULL, -- of the order's own outcome
  maker_amount          INTEGER NOT NULL,
  taker_amount          INTEGER NOT NULL,
  lots                  INTEGER NOT NULL,
  remaining_lots        INTEGER NOT NULL,
  filled_notional_micro INTEGER NOT NULL, -- of the order's own outcome
  time_in_force         INTEGER NOT NULL,
  post_only             INTEGER NOT NULL,
  fee_bps               INTEGER NOT NULL,
  expiration_sec        INTEGER NOT NULL,
  status                INTEGER NOT NULL,
  reason                INTEGER,          -- why it is closed
  client_order_id       TEXT,
  order_group           INTEGER NOT NULL DEFAULT 0, -- its index, 0 for none; names are in control.db
  order_sequence        INTEGER NOT NULL,
  shard_sequence        INTEGER NOT NULL, -- of the record that changed it last
  created_ms            INTEGER NOT NULL,
  updated_ms            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX orders_open ON orders (shard, slot) WHERE slot IS NOT NULL;
CREATE INDEX orders_created ON orders (account, id);
-- The rest was changed last when it was created, and its ids are in that order.
CREATE INDEX orders_updated ON orders (account, updated_ms, id) WHERE updated_ms <> created_ms;

-- Which order has a hash. An entry is the first 8 bytes of the hash and the 16 of the order's id. Hashes are random, so
-- an entry alone would cost a page of its own: the newest wait in order_hash_tail, each row those of one batch back to
-- back, until they are many.
CREATE TABLE order_hashes (
  entry BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE order_hash_tail (
  batch   INTEGER PRIMARY KEY,
  entries BLOB    NOT NULL
) STRICT;

-- One row per fill. Prices are in Yes terms: the No side of a fill pays or receives the rest of the unit.
CREATE TABLE trades (
  id             BLOB    PRIMARY KEY,
  market         INTEGER NOT NULL REFERENCES markets,
  match_type     INTEGER NOT NULL,
  yes_ticks      INTEGER NOT NULL,
  lots           INTEGER NOT NULL,
  maker_order_id BLOB    NOT NULL,
  maker_account  INTEGER NOT NULL,
  maker_side     INTEGER NOT NULL,
  maker_outcome  INTEGER NOT NULL,
  maker_fee      INTEGER NOT NULL, -- in what the party receives
  taker_order_id BLOB    NOT NULL,
  taker_account  INTEGER NOT NULL,
  taker_side     INTEGER NOT NULL,
  taker_outcome  INTEGER NOT NULL,
  taker_fee      INTEGER NOT NULL,
  matched_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX trades_by_taker ON trades (taker_account, id);
CREATE INDEX trades_by_maker ON trades (maker_account, id);

-- What the gateway may still have to tell of (shared/privateRecord.ts): the private frames of each record, back to back.
-- Rows go once the gateway has them in its own log for good, so this holds seconds, not history.
CREATE TABLE private_tail (
  shard          INTEGER NOT NULL,
  shard_sequence INTEGER NOT NULL,
  frames         BLOB    NOT NULL,
  PRIMARY KEY (shard, shard_sequence)
) STRICT, WITHOUT ROWID;

-- From which record on private_tail has everything; 1 where no row says otherwise.
CREATE TABLE private_tail_starts (
  shard          INTEGER PRIMARY KEY,
  shard_sequence INTEGER NOT NULL
) STRICT;

-- Orders placed or cancelled by a command with an idempotency key, for as long as the key is remembered.
CREATE TABLE order_keys (
  id             INTEGER PRIMARY KEY,
  time_ms        INTEGER NOT NULL, -- of the record
  account        INTEGER NOT NULL,
  route          INTEGER NOT NULL, -- EXT_ROUTE in shared/commands.ts
  row            INTEGER NOT NULL, -- of the request, where it has many
  key            BLOB    NOT NULL,
  fingerprint    BLOB    NOT NULL,
  order_id       BLOB    NOT NULL,
  shard_sequence INTEGER NOT NULL, -- of the record
  kept_place     INTEGER NOT NULL, -- it has the time priority of the order it replaced
  changed_price  INTEGER NOT NULL  -- and another price than that
) STRICT;

CREATE INDEX order_keys_key ON order_keys (key);
CREATE INDEX order_keys_time ON order_keys (time_ms);
