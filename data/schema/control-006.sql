-- control.db, version 6: grants instead of delegates, and restricted accounts. A grant lets a signer sign orders that a
-- wallet pays for; a linked wallet has one for itself. Journals identify grants by number: none is used again.

CREATE TABLE grants (
  number     INTEGER PRIMARY KEY CHECK (number >= 1),
  maker      TEXT    NOT NULL REFERENCES wallets (address),
  signer     TEXT    NOT NULL CHECK (length(signer) = 42 AND signer = lower(signer)),
  removed_ms INTEGER,                      -- null while it is in force
  is_swept   INTEGER NOT NULL DEFAULT 0    -- 1: removed, and no shard has open orders under it any more
) STRICT;
CREATE UNIQUE INDEX grants_in_force ON grants (maker, signer) WHERE removed_ms IS NULL;
INSERT INTO grants (maker, signer) SELECT address, address FROM wallets ORDER BY sequence;
INSERT INTO grants (maker, signer) SELECT maker, signer FROM delegates WHERE signer <> maker ORDER BY maker, signer;
DROP TABLE delegates;

CREATE INDEX api_keys_of_account ON api_keys (account_index);

-- Accounts without a row are active.
CREATE TABLE account_states (
  account_index INTEGER PRIMARY KEY REFERENCES users (account_index),
  state         INTEGER NOT NULL,          -- ACCOUNT_STATE in shared/base/codes.ts
  since_ms      INTEGER NOT NULL,
  is_swept      INTEGER NOT NULL           -- 1: no shard has open orders that the state forbids
) STRICT;
