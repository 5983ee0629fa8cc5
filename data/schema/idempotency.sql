-- idempotency.db: the answers to requests with an Idempotency-Key (shared/RULES.md 6.7). Owner: the thread
-- gateway/shardlink/answerWriter.ts, which alone writes it.
--
-- Ids grow in the order of first use, so the oldest rows are found without an index on time.

CREATE TABLE answers (
  id          INTEGER PRIMARY KEY,
  account     INTEGER NOT NULL,
  route       INTEGER NOT NULL, -- EXT_ROUTE in shared/wire/commands.ts
  key         BLOB    NOT NULL, -- 16 bytes
  fingerprint BLOB    NOT NULL, -- of method, path, query and body, 16 bytes
  status      INTEGER NOT NULL, -- of the HTTP answer; 0: the request may have been carried out, the answer is not known
  body        TEXT    NOT NULL,
  created_ms  INTEGER NOT NULL,
  -- Version 1 let a key be used once on each route; its rows may still share a key.
  UNIQUE (account, key, fingerprint)
) STRICT;

CREATE INDEX answers_of_account ON answers (account);

-- What an account has in `answers`: rows and bytes are bounded for each account (RULES.md 6.11).
CREATE TABLE kept (
  account INTEGER PRIMARY KEY,
  rows    INTEGER NOT NULL,
  bytes   INTEGER NOT NULL -- of the bodies, and 128 for each row
) STRICT;

CREATE TRIGGER answer_added AFTER INSERT ON answers BEGIN
  INSERT INTO kept VALUES (NEW.account, 1, 128 + octet_length(NEW.body))
    ON CONFLICT DO UPDATE SET rows = rows + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER answer_changed AFTER UPDATE OF body ON answers BEGIN
  UPDATE kept SET bytes = bytes + octet_length(NEW.body) - octet_length(OLD.body) WHERE account = NEW.account;
END;

CREATE TRIGGER answer_removed AFTER DELETE ON answers BEGIN
  UPDATE kept SET rows = rows - 1, bytes = bytes - 128 - octet_length(OLD.body) WHERE account = OLD.account;
  DELETE FROM kept WHERE account = OLD.account AND rows = 0;
END;

-- One row: every key that was used before this moment (Unix milliseconds) had its row in `answers`.
CREATE TABLE settled (
  id         INTEGER PRIMARY KEY CHECK (id = 0),
  settled_ms INTEGER NOT NULL
) STRICT;

INSERT INTO settled VALUES (0, 0);
