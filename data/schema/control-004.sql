-- control.db, version 4: operators. A row is never deleted, so that a name stands for one person for ever. The branch is
-- the id of the first operator on the way from the one who made this one up to the holder of ADMIN_TOKEN.

CREATE TABLE operators (
  id          TEXT PRIMARY KEY,
  name        TEXT    NOT NULL UNIQUE,
  roles       TEXT    NOT NULL,          -- JSON
  token_hash  BLOB    NOT NULL,          -- SHA-256
  branch      TEXT    NOT NULL,
  created_by  TEXT    NOT NULL,
  created_ms  INTEGER NOT NULL,
  revoked_ms  INTEGER
) STRICT, WITHOUT ROWID;
