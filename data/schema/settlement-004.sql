-- What an account pays for a withdrawal, split or merge on the chain, in micro-USDC (RULES.md 17.50).
ALTER TABLE work ADD COLUMN fee_micro INTEGER NOT NULL DEFAULT 0;
-- The same of a withdrawal that is taken over from the chain (RULES.md 17.44).
ALTER TABLE chain_money ADD COLUMN fee_micro INTEGER NOT NULL DEFAULT 0;
