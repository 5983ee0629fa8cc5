-- control.db, version 7: changes that need the approval of a second operator. The request is JSON. A pending approval
-- that has expired stays pending here: what it is follows from expires_ms.

CREATE TABLE approvals (
  sequence     INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  kind         TEXT    NOT NULL,
  subject      TEXT    NOT NULL,          -- what it is about: one request about it waits at a time
  request      TEXT    NOT NULL,
  requested_by TEXT    NOT NULL,          -- operators.id, or bootstrap
  requested_ms INTEGER NOT NULL,
  expires_ms   INTEGER NOT NULL CHECK (expires_ms > requested_ms),
  status       TEXT    NOT NULL CHECK (status IN ('pending', 'approved', 'carried_out', 'failed', 'rejected')),
  decided_by   TEXT,
  decided_ms   INTEGER,
  failure      TEXT                       -- JSON
) STRICT;
CREATE INDEX approvals_open ON approvals (status, subject) WHERE status IN ('pending', 'approved');
