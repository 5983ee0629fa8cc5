-- control.db, version 17: achievements that accounts were granted.

CREATE TABLE achievements (
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  id            TEXT    NOT NULL,
  granted_ms    INTEGER NOT NULL,
  PRIMARY KEY (account_index, id)
) STRICT, WITHOUT ROWID;
