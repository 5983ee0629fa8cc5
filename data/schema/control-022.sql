-- A deposit of full sets names their market (RULES.md 17.20).
ALTER TABLE movements ADD COLUMN market_index INTEGER;

-- Accounts whose wallet leaves the exchange's escrow: frozen, whatever their state is (RULES.md 17.23).
CREATE TABLE account_exits (
  account_index INTEGER PRIMARY KEY REFERENCES users (account_index),
  since_ms      INTEGER NOT NULL,
  is_swept      INTEGER NOT NULL
) STRICT;
