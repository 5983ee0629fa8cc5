-- control.db, version 18: the part of their fees that makers of a market get back, from a moment on.

CREATE TABLE rebate_rates (
  market_index INTEGER NOT NULL REFERENCES markets (market_index),
  since_ms     INTEGER NOT NULL,
  rebate_bps   INTEGER NOT NULL CHECK (rebate_bps BETWEEN 0 AND 10000),
  PRIMARY KEY (market_index, since_ms)
) STRICT, WITHOUT ROWID;
