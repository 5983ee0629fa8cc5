-- idempotency.db: what requests with an Idempotency-Key were answered (shared/RULES.md 6.7). Written by the thread
-- gateway/idempotency/writer.ts alone.
--
-- Rows count up in the order of their first use, so the oldest are found without an index on time.

CREATE TABLE answers (
  id          INTEGER PRIMARY KEY,
  account     INTEGER NOT NULL,
  route       INTEGER NOT NULL, -- EXT_ROUTE in shared/commands.ts
  key         BLOB    NOT NULL, -- 16 bytes
  fingerprint BLOB    NOT NULL, -- of the payload, 16 bytes
  status      INTEGER NOT NULL, -- of the HTTP answer; 0: the request may have been carried out, the answer is not known
  body        TEXT    NOT NULL,
  created_ms  INTEGER NOT NULL,
  UNIQUE (account, route, key)
) STRICT;

-- One row: every key used before this moment (Unix milliseconds) has its row above.
CREATE TABLE settled (
  id         INTEGER PRIMARY KEY CHECK (id = 0),
  settled_ms INTEGER NOT NULL
) STRICT;

INSERT INTO settled VALUES (0, 0);
