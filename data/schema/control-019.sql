-- control.db, version 19: cashing in and out, and the transactions of the ledger rail.

CREATE TABLE fiat_sessions (
  id                TEXT    PRIMARY KEY,
  account_index     INTEGER NOT NULL REFERENCES users (account_index),
  kind              TEXT    NOT NULL CHECK (kind IN ('onramp', 'offramp')),
  provider          TEXT    NOT NULL,
  partner_reference TEXT    NOT NULL UNIQUE,
  status            TEXT    NOT NULL,
  wallet_address    TEXT    NOT NULL,
  asset             TEXT    NOT NULL,
  network           TEXT    NOT NULL,
  fiat_currency     TEXT    NOT NULL,
  requested_amount  TEXT,
  payment_method    TEXT,
  redirect_path     TEXT,
  idempotency_key   TEXT,
  fingerprint       TEXT    NOT NULL,
  -- Of the provider's transaction, as it was last seen and accepted.
  amount_value      TEXT,
  amount_currency   TEXT,
  provider_transaction_id TEXT,
  provider_status   TEXT    NOT NULL DEFAULT 'none',
  to_address        TEXT,
  tx_hash           TEXT,
  deadline_ms       INTEGER,
  failure_code      TEXT,
  -- Of an off-ramp: its transfer, the state before an error and what the error was.
  transfer_state    TEXT,
  held_state        TEXT,
  error_cause       TEXT,
  -- An operator has to look: why.
  alarm             TEXT,
  -- A hash of another transaction than the relay's that the provider names.
  reported_hash     TEXT,
  created_ms        INTEGER NOT NULL,
  updated_ms        INTEGER NOT NULL,
  expires_ms        INTEGER NOT NULL,
  -- 1 while the exchange still has to do something for it.
  is_open           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX fiat_sessions_of_account ON fiat_sessions (account_index, created_ms, id);
CREATE INDEX fiat_sessions_open ON fiat_sessions (is_open, created_ms) WHERE is_open = 1;
CREATE INDEX fiat_sessions_alarmed ON fiat_sessions (updated_ms) WHERE alarm IS NOT NULL;
CREATE INDEX fiat_sessions_recent ON fiat_sessions (created_ms, id);
CREATE UNIQUE INDEX fiat_sessions_keyed ON fiat_sessions (account_index, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- What the wallet is asked to sign, once for each session.
CREATE TABLE fiat_intents (
  session_id       TEXT    PRIMARY KEY REFERENCES fiat_sessions (id),
  intent_id        TEXT    NOT NULL UNIQUE,
  from_address     TEXT    NOT NULL,
  to_address       TEXT    NOT NULL,
  value_micro      INTEGER NOT NULL,
  valid_after_sec  INTEGER NOT NULL,
  valid_before_sec INTEGER NOT NULL,
  nonce            TEXT    NOT NULL UNIQUE,
  digest           TEXT    NOT NULL,
  signature        TEXT,
  created_ms       INTEGER NOT NULL,
  signed_ms        INTEGER
) STRICT, WITHOUT ROWID;

-- Transactions of the relayer: a row for each envelope, never changed but for what became of it.
CREATE TABLE fiat_envelopes (
  sequence      INTEGER PRIMARY KEY,
  session_id    TEXT    NOT NULL REFERENCES fiat_sessions (id),
  account_nonce INTEGER NOT NULL,
  fee           INTEGER NOT NULL,
  unsigned      TEXT    NOT NULL,
  signed        TEXT    NOT NULL,
  tx_hash       TEXT    NOT NULL UNIQUE,
  -- built: perhaps sent; accepted: the rail has it; dead: it is never sent again.
  state         TEXT    NOT NULL CHECK (state IN ('built', 'accepted', 'dead')),
  created_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX fiat_envelopes_of_session ON fiat_envelopes (session_id, sequence);
CREATE INDEX fiat_envelopes_by_nonce ON fiat_envelopes (account_nonce);
CREATE INDEX fiat_envelopes_unsent ON fiat_envelopes (account_nonce, sequence) WHERE state = 'built';

-- A transaction pays for one session only.
CREATE TABLE fiat_claims (
  tx_hash    TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES fiat_sessions (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX fiat_claims_of_session ON fiat_claims (session_id);

-- Every change of a session and what it rests on, oldest first.
CREATE TABLE fiat_transitions (
  sequence   INTEGER PRIMARY KEY,
  session_id TEXT    NOT NULL REFERENCES fiat_sessions (id),
  subject    TEXT    NOT NULL CHECK (subject IN ('status', 'transfer')),
  from_state TEXT,
  to_state   TEXT    NOT NULL,
  cause      TEXT    NOT NULL,
  evidence   TEXT,
  at_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX fiat_transitions_of_session ON fiat_transitions (session_id, sequence);

CREATE TABLE fiat_webhooks (
  provider          TEXT    NOT NULL,
  event_id          TEXT    NOT NULL,
  partner_reference TEXT    NOT NULL,
  body              BLOB    NOT NULL,
  received_ms       INTEGER NOT NULL,
  processed_ms      INTEGER,
  PRIMARY KEY (provider, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX fiat_webhooks_waiting ON fiat_webhooks (received_ms) WHERE processed_ms IS NULL;
CREATE INDEX fiat_webhooks_by_age ON fiat_webhooks (received_ms);
CREATE INDEX fiat_webhooks_of_reference ON fiat_webhooks (partner_reference, received_ms);

-- The token as the books play it.
CREATE TABLE rail_transactions (
  tx_hash          TEXT    PRIMARY KEY,
  kind             TEXT    NOT NULL CHECK (kind IN ('transfer', 'cancel')),
  -- The account nonce and the fee are of the relayer's transactions; others have none.
  account_nonce    INTEGER,
  fee              INTEGER NOT NULL,
  from_address     TEXT    NOT NULL,
  to_address       TEXT    NOT NULL,
  value_micro      INTEGER NOT NULL,
  valid_after_sec  INTEGER NOT NULL,
  valid_before_sec INTEGER NOT NULL,
  nonce            TEXT    NOT NULL,
  signature        TEXT    NOT NULL,
  from_account     INTEGER NOT NULL,
  to_account       INTEGER NOT NULL,
  state            TEXT    NOT NULL CHECK (state IN ('pending', 'included', 'mined', 'reverted', 'replaced')),
  reason           TEXT,
  received_ms      INTEGER NOT NULL,
  -- The time of its block.
  block_ms         INTEGER,
  -- Of the deposit that it brings.
  reference        TEXT,
  credited_ms      INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX rail_transactions_by_nonce ON rail_transactions (from_address, nonce);
CREATE INDEX rail_transactions_of_relayer ON rail_transactions (account_nonce) WHERE account_nonce IS NOT NULL;
CREATE INDEX rail_transactions_open ON rail_transactions (received_ms)
  WHERE state IN ('pending', 'included') OR (state = 'mined' AND credited_ms IS NULL);
CREATE INDEX rail_arrivals ON rail_transactions (to_account, block_ms, tx_hash) WHERE state = 'mined';
