-- control.db, version 3: order groups. A group's index is its own for ever: the journals know it by that.

CREATE TABLE order_groups (
  group_index   INTEGER PRIMARY KEY,
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  name          TEXT    NOT NULL,
  window_sec    INTEGER,          -- null while no shard has confirmed the group
  max_atomic    INTEGER,
  UNIQUE (account_index, name)
) STRICT;
