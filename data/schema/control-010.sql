-- control.db, version 10: how accounts are shown to the public, and which accounts were there in each hour.

CREATE TABLE public_profiles (
  account_index INTEGER PRIMARY KEY REFERENCES users (account_index),
  handle        TEXT    NOT NULL UNIQUE,
  avatar_url    TEXT,
  is_public     INTEGER NOT NULL CHECK (is_public IN (0, 1))
) STRICT;

-- A bit for each account index, the lowest bit of the first byte for 0.
CREATE TABLE online_hours (
  hour_ms  INTEGER PRIMARY KEY,
  accounts BLOB NOT NULL
) STRICT;
