-- What the account pays for the withdrawal on a chain, in micro-USDC (RULES.md 17.50).
ALTER TABLE movements ADD COLUMN fee_micro INTEGER NOT NULL DEFAULT 0;
