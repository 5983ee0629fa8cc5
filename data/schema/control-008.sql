-- control.db, version 8: live scores of events, and the prices at which a desk says it would trade. One row each: the
-- latest.

CREATE TABLE live_scores (
  event_index INTEGER PRIMARY KEY REFERENCES events (event_index),
  status      TEXT    NOT NULL,
  clock       TEXT,
  period      TEXT,
  home_score  INTEGER NOT NULL CHECK (home_score >= 0),
  away_score  INTEGER NOT NULL CHECK (away_score >= 0),
  updated_ms  INTEGER NOT NULL
) STRICT;

-- Ticks of Yes on the market's grid.
CREATE TABLE indications (
  market_index INTEGER PRIMARY KEY REFERENCES markets (market_index),
  bid_ticks    INTEGER NOT NULL CHECK (bid_ticks >= 1),
  ask_ticks    INTEGER NOT NULL CHECK (ask_ticks > bid_ticks),
  expires_ms   INTEGER NOT NULL
) STRICT;
