-- The sandbox provider's own file (gateway/programs/ramp/store.ts).

-- A launch: the first who opens its URL is its customer.
CREATE TABLE launches (
  id           TEXT    PRIMARY KEY,
  token_hash   TEXT    NOT NULL UNIQUE,
  visitor_hash TEXT    UNIQUE,
  kind         TEXT    NOT NULL CHECK (kind IN ('onramp', 'offramp')),
  reference    TEXT    NOT NULL,
  wallet       TEXT    NOT NULL,
  amount_micro INTEGER,
  currency     TEXT    NOT NULL,
  method       TEXT    NOT NULL,
  return_url   TEXT,
  expires_ms   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a customer has agreed to: a purchase or a sale of USDC.
CREATE TABLE deals (
  sequence     INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  -- One deal comes of a launch.
  launch_id    TEXT    NOT NULL UNIQUE REFERENCES launches (id),
  kind         TEXT    NOT NULL CHECK (kind IN ('onramp', 'offramp')),
  reference    TEXT    NOT NULL,
  wallet       TEXT    NOT NULL,
  amount_micro INTEGER NOT NULL CHECK (amount_micro > 0),
  currency     TEXT    NOT NULL,
  method       TEXT    NOT NULL,
  status       TEXT    NOT NULL,
  -- The transaction that brought or delivers the USDC.
  tx_hash      TEXT,
  agreed_ms    INTEGER NOT NULL,
  -- Listed from then on.
  listed_ms    INTEGER NOT NULL,
  deadline_ms  INTEGER,
  -- The USDC of a sale has arrived.
  funded_ms    INTEGER,
  updated_ms   INTEGER NOT NULL,
  is_open      INTEGER NOT NULL
) STRICT;
CREATE INDEX deals_of_reference ON deals (reference, kind, sequence);
CREATE INDEX deals_open ON deals (sequence) WHERE is_open = 1;
CREATE INDEX deals_of_wallet ON deals (wallet, amount_micro) WHERE kind = 'offramp' AND funded_ms IS NULL;

-- Money of customers' banks: what was taken, given back and paid out, each once for a deal.
CREATE TABLE bank (
  deal_id      TEXT    NOT NULL REFERENCES deals (id),
  act          TEXT    NOT NULL CHECK (act IN ('taken', 'given_back', 'paid_out')),
  amount_micro INTEGER NOT NULL CHECK (amount_micro > 0),
  currency     TEXT    NOT NULL,
  at_ms        INTEGER NOT NULL,
  PRIMARY KEY (deal_id, act)
) STRICT, WITHOUT ROWID;

-- Transfers that the provider has signed: stored before they are sent, and sent as they are stored.
CREATE TABLE transfers (
  sequence         INTEGER PRIMARY KEY,
  nonce            TEXT    NOT NULL UNIQUE,
  -- A deal that it delivers, or an arrival that it returns.
  purpose          TEXT    NOT NULL CHECK (purpose IN ('deliver', 'return')),
  subject          TEXT    NOT NULL,
  to_address       TEXT    NOT NULL,
  value_micro      INTEGER NOT NULL CHECK (value_micro > 0),
  valid_before_sec INTEGER NOT NULL,
  signature        TEXT    NOT NULL,
  state            TEXT    NOT NULL CHECK (state IN ('open', 'final', 'dead')),
  tx_hash          TEXT
) STRICT;
CREATE INDEX transfers_open ON transfers (sequence) WHERE state = 'open';
-- Another one for the same subject only once the one before can never be carried out.
CREATE UNIQUE INDEX transfers_of_subject ON transfers (purpose, subject) WHERE state <> 'dead';

-- USDC that came to the provider's wallet.
CREATE TABLE arrivals (
  tx_hash      TEXT    PRIMARY KEY,
  from_address TEXT    NOT NULL,
  value_micro  INTEGER NOT NULL,
  deal_id      TEXT    UNIQUE REFERENCES deals (id),
  state        TEXT    NOT NULL CHECK (state IN ('kept', 'to_return', 'returned'))
) STRICT, WITHOUT ROWID;
CREATE INDEX arrivals_to_return ON arrivals (state) WHERE state = 'to_return';

CREATE TABLE hooks (
  sequence  INTEGER PRIMARY KEY,
  event_id  TEXT    NOT NULL,
  body      TEXT    NOT NULL,
  due_ms    INTEGER NOT NULL,
  tries     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX hooks_due ON hooks (due_ms);

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
