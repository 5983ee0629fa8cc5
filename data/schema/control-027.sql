-- Statements of providers that were compared with our sessions, and what did not agree (RULES.md 16.80 to 16.84).
CREATE TABLE fiat_statements (
  provider    TEXT    NOT NULL,
  day         TEXT    NOT NULL,
  row_count   INTEGER NOT NULL,
  compared_ms INTEGER NOT NULL,
  PRIMARY KEY (provider, day)
) STRICT, WITHOUT ROWID;

-- Sessions that some statement has.
CREATE TABLE fiat_stated (
  session_id TEXT PRIMARY KEY,
  day        TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- closed_by: an operator, or '' where a statement has shown that all is well.
CREATE TABLE fiat_differences (
  sequence       INTEGER PRIMARY KEY AUTOINCREMENT,
  provider       TEXT    NOT NULL,
  transaction_id TEXT    NOT NULL,
  kind           TEXT    NOT NULL,
  day            TEXT    NOT NULL,
  session_id     TEXT,
  account_index  INTEGER,
  ours_micro     INTEGER,
  theirs_micro   INTEGER,
  claim_micro    INTEGER NOT NULL,
  found_ms       INTEGER NOT NULL,
  closed_ms      INTEGER,
  closed_by      TEXT,
  note           TEXT,
  UNIQUE (provider, transaction_id, kind)
) STRICT;
CREATE INDEX fiat_differences_open ON fiat_differences (sequence) WHERE closed_ms IS NULL;
