-- control.db, version 14: decided markets whose positions an account has marked as claimed.

CREATE TABLE claim_marks (
  account_index INTEGER NOT NULL REFERENCES users (account_index),
  market_index  INTEGER NOT NULL REFERENCES markets (market_index),
  PRIMARY KEY (account_index, market_index)
) STRICT, WITHOUT ROWID;
