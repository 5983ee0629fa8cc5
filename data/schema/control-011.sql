-- control.db, version 11: deployments of markets that are under way, or that were given up. A market without a row is
-- deployed if its details name its condition, and otherwise not.

CREATE TABLE deployments (
  market_index INTEGER PRIMARY KEY REFERENCES markets (market_index),
  status       TEXT    NOT NULL CHECK (status IN ('pending_deploy', 'deploying', 'failed', 'permanently_failed')),
  retries      INTEGER NOT NULL CHECK (retries >= 0)
) STRICT;
