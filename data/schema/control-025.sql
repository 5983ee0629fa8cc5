-- The floor under the nonces of the orders of a wallet (RULES.md 5.12); it outlives the link of the wallet.
-- is_carried: every shard has it.
CREATE TABLE nonce_floors (
  wallet     TEXT PRIMARY KEY REFERENCES wallets (address),
  floor      INTEGER NOT NULL,
  is_carried INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
