-- What `npm run polymarket` keeps: accounts at the exchange, keys of its own clients, and which order is which.
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE accounts (
  address TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  secret TEXT NOT NULL,
  passphrase TEXT NOT NULL,
  is_funded INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE keys (
  key TEXT PRIMARY KEY,
  address TEXT NOT NULL REFERENCES accounts,
  nonce TEXT NOT NULL,
  secret TEXT NOT NULL,
  passphrase TEXT NOT NULL,
  UNIQUE (address, nonce)
) STRICT, WITHOUT ROWID;
-- A proxy or Safe belongs to the first signer who shows an order of it.
CREATE TABLE funders (funder TEXT PRIMARY KEY, address TEXT NOT NULL REFERENCES accounts) STRICT, WITHOUT ROWID;
CREATE TABLE orders (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL REFERENCES accounts,
  owner TEXT NOT NULL,
  maker TEXT NOT NULL,
  market_id TEXT NOT NULL,
  outcome_index INTEGER NOT NULL,
  side TEXT NOT NULL,
  kind TEXT NOT NULL,
  maker_amount TEXT NOT NULL,
  taker_amount TEXT NOT NULL,
  expiration_sec INTEGER NOT NULL,
  created_sec INTEGER NOT NULL
) STRICT;
CREATE INDEX orders_of_account ON orders (address, number);
-- The orders of the exchange that carry out one of these: one, or several for an amount of USDC.
CREATE TABLE parts (
  order_hash TEXT PRIMARY KEY,
  number INTEGER NOT NULL REFERENCES orders ON DELETE CASCADE,
  order_id TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX parts_of_order ON parts (number);
CREATE INDEX parts_by_id ON parts (order_id);
