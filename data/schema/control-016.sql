-- control.db, version 16: people who sign in without a key: their sessions, the refresh tokens that they have used
-- lately, the keys that sign access tokens, and who they are to the providers that vouch for them.

-- The newest key signs; the ones before it have no private part left and verify for one more lifetime of a token.
CREATE TABLE session_keys (
  kid            TEXT    PRIMARY KEY,
  public_jwk     TEXT    NOT NULL,
  sealed_private BLOB,
  created_ms     INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  id               TEXT    PRIMARY KEY,
  account_index    INTEGER NOT NULL REFERENCES users (account_index),
  method           TEXT    NOT NULL,
  user_agent       TEXT,
  created_ms       INTEGER NOT NULL,
  authenticated_ms INTEGER NOT NULL,
  rotated_ms       INTEGER NOT NULL,
  generation       INTEGER NOT NULL CHECK (generation >= 0),
  token_hash       BLOB    NOT NULL CHECK (length(token_hash) = 32)
) STRICT;

-- A successor is sealed under the token that it succeeds: nothing in this file opens it.
CREATE TABLE used_refresh_tokens (
  session_id       TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  generation       INTEGER NOT NULL,
  token_hash       BLOB    NOT NULL CHECK (length(token_hash) = 32),
  used_ms          INTEGER NOT NULL,
  successor_sealed BLOB    NOT NULL,
  PRIMARY KEY (session_id, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE identities (
  issuer        TEXT    NOT NULL,
  subject       TEXT    NOT NULL,
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  created_ms    INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
