-- The key whose account nonce an envelope has used: each key counts its own. The ledger rail has none.
ALTER TABLE fiat_envelopes ADD COLUMN sender TEXT NOT NULL DEFAULT '';
DROP INDEX fiat_envelopes_by_nonce;
CREATE INDEX fiat_envelopes_by_nonce ON fiat_envelopes (sender, account_nonce);
DROP INDEX fiat_envelopes_unsent;
CREATE INDEX fiat_envelopes_unsent ON fiat_envelopes (sender, account_nonce, sequence) WHERE state = 'built';
