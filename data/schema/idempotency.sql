-- idempotency.db: the answers to requests with an Idempotency-Key (shared/RULES.md 6.7). Owner: the thread
-- gateway/idempotency/writer.ts, which alone writes it.
--
-- Ids grow in the order of first use, so the oldest rows are found without an index on time.

CREATE TABLE answers (
  id          INTEGER PRIMARY KEY,
  account     INTEGER NOT NULL,
  route       INTEGER NOT NULL, -- EXT_ROUTE in shared/wire/commands.ts
  key         BLOB    NOT NULL, -- 16 bytes
  fingerprint BLOB    NOT NULL, -- of the payload, 16 bytes
  status      INTEGER NOT NULL, -- of the HTTP answer; 0: the request may have been carried out, the answer is not known
  body        TEXT    NOT NULL,
  created_ms  INTEGER NOT NULL,
  UNIQUE (account, route, key)
) STRICT;

-- One row: every key that was used before this moment (Unix milliseconds) has a row in `answers`.
CREATE TABLE settled (
  id         INTEGER PRIMARY KEY CHECK (id = 0),
  settled_ms INTEGER NOT NULL
) STRICT;

INSERT INTO settled VALUES (0, 0);
