-- control.db, version 3: order groups. An index is never used again, because journals identify groups by it.

CREATE TABLE order_groups (
  group_index   INTEGER PRIMARY KEY,
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  name          TEXT    NOT NULL,
  window_sec    INTEGER,          -- null while no shard has confirmed the group
  max_atomic    INTEGER,
  UNIQUE (account_index, name)
) STRICT;
