-- control.db, version 15: which notifications an account has read. A mark is all that there was when it was made: up to
-- the last record of each shard, and up to the last notice. Notifications that were read one at a time have rows of
-- their own.

CREATE TABLE read_marks (
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  read_ms       INTEGER NOT NULL,
  from_ms       INTEGER NOT NULL,          -- nothing older is unread
  through       TEXT    NOT NULL,          -- JSON: sequences by source
  PRIMARY KEY (account_index, read_ms)
) STRICT, WITHOUT ROWID;

CREATE TABLE single_reads (
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  id            TEXT    NOT NULL,
  source        INTEGER NOT NULL,          -- a shard, or the number of shards for the notices
  sequence      INTEGER NOT NULL,
  read_ms       INTEGER NOT NULL,
  PRIMARY KEY (account_index, id)
) STRICT, WITHOUT ROWID;
