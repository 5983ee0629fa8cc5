-- control.db, version 1: users, wallets, API keys, events, markets, deposits and withdrawals. Balances, orders and the
-- state of markets are not stored here but in the journals. Times are in milliseconds since the Unix epoch, amounts in
-- micro-USDC or atomic tokens.

CREATE TABLE platform (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  account_index INTEGER PRIMARY KEY CHECK (account_index >= 1),
  id            TEXT NOT NULL UNIQUE,
  display_name  TEXT,
  email         TEXT,
  role          TEXT NOT NULL,
  referral_code TEXT NOT NULL UNIQUE,
  referred_by   INTEGER REFERENCES users (account_index),
  created_ms    INTEGER NOT NULL
) STRICT;

-- Rows are in the order in which wallets were linked; the first one of an account is its primary wallet.
CREATE TABLE wallets (
  sequence      INTEGER PRIMARY KEY,
  address       TEXT NOT NULL UNIQUE CHECK (length(address) = 42 AND address = lower(address)),
  account_index INTEGER NOT NULL REFERENCES users (account_index)
) STRICT;

CREATE TABLE delegates (
  maker  TEXT NOT NULL REFERENCES wallets (address),
  signer TEXT NOT NULL CHECK (length(signer) = 42 AND signer = lower(signer)),
  PRIMARY KEY (maker, signer)
) STRICT, WITHOUT ROWID;

-- The secret is encrypted under the master key, the passphrase is hashed with a salt of its own, policy is JSON.
CREATE TABLE api_keys (
  key_id          TEXT PRIMARY KEY,
  account_index   INTEGER NOT NULL REFERENCES users (account_index),
  sealed_secret   BLOB NOT NULL,
  passphrase_hash BLOB NOT NULL,
  policy          TEXT NOT NULL,
  expires_ms      INTEGER,
  revoked_ms      INTEGER,
  created_ms      INTEGER NOT NULL,
  -- The latest timestamp accepted ahead of the server's clock: after a restart the key must sign with a later one.
  ahead_sec       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  event_index INTEGER PRIMARY KEY CHECK (event_index >= 0),
  id          TEXT NOT NULL UNIQUE,
  slug        TEXT NOT NULL UNIQUE,
  details     TEXT NOT NULL,
  created_ms  INTEGER NOT NULL,
  updated_ms  INTEGER NOT NULL
) STRICT;

-- status, fee_bps and the two times are those at the opening of the market; the current ones are in the journal.
CREATE TABLE markets (
  market_index     INTEGER PRIMARY KEY CHECK (market_index >= 0),
  id               TEXT NOT NULL UNIQUE,
  event_id         TEXT REFERENCES events (id),
  ticks_per_unit   INTEGER NOT NULL,
  min_order_atomic INTEGER NOT NULL,
  yes_token_id     TEXT NOT NULL UNIQUE,
  no_token_id      TEXT NOT NULL UNIQUE,
  status           INTEGER NOT NULL,
  fee_bps          INTEGER NOT NULL,
  start_ms         INTEGER NOT NULL,
  end_ms           INTEGER NOT NULL,
  details          TEXT NOT NULL,
  created_ms       INTEGER NOT NULL,
  updated_ms       INTEGER NOT NULL
) STRICT;

CREATE TABLE movements (
  id            TEXT PRIMARY KEY,
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  kind          INTEGER NOT NULL,
  amount_micro  INTEGER NOT NULL CHECK (amount_micro > 0),
  reference     TEXT NOT NULL,
  status        TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'refused')),
  created_ms    INTEGER NOT NULL,
  UNIQUE (account_index, kind, reference)
) STRICT, WITHOUT ROWID;
