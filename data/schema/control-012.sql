-- control.db, version 12: notices, and which notifications an account has read. Notices are the notifications that do
-- not follow from the journals; all others are read from there.

CREATE TABLE notices (
  sequence      INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT    NOT NULL UNIQUE,
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  type          TEXT    NOT NULL,
  title         TEXT    NOT NULL,
  body          TEXT    NOT NULL,
  created_ms    INTEGER NOT NULL
) STRICT;
CREATE INDEX notices_of_account ON notices (account_index, created_ms, sequence);
