-- Shards that have cancelled the orders of an account whose switch was triggered, while others have not (RULES.md 7.8).
CREATE TABLE cancelled_shards (
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  shard         INTEGER NOT NULL,
  PRIMARY KEY (account_index, shard)
) STRICT, WITHOUT ROWID;
