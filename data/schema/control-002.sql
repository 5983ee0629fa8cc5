-- control.db, version 2: armed dead-man's switches, reminders and trading timeouts.

CREATE TABLE armed_switches (
  account_index INTEGER PRIMARY KEY REFERENCES users (account_index),
  armed_ms      INTEGER NOT NULL
) STRICT;

-- Null means off.
CREATE TABLE gaming_preferences (
  account_index          INTEGER PRIMARY KEY REFERENCES users (account_index),
  reality_check_minutes  INTEGER,
  session_timeout_minutes INTEGER
) STRICT;

CREATE TABLE trading_timeouts (
  id             TEXT PRIMARY KEY,
  account_index  INTEGER NOT NULL REFERENCES users (account_index),
  duration_label TEXT NOT NULL,
  started_ms     INTEGER NOT NULL,
  ends_ms        INTEGER NOT NULL CHECK (ends_ms > started_ms),
  cancelled_ms   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX trading_timeouts_of_account ON trading_timeouts (account_index, started_ms);
