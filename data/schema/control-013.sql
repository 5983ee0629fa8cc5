-- control.db, version 13: a deposit or withdrawal is found by the hash of its reference, which is what the journals and
-- the read model know of it. Rows of earlier versions get theirs when the table is opened.

ALTER TABLE movements ADD COLUMN reference_hash BLOB;
CREATE UNIQUE INDEX movements_by_hash ON movements (reference_hash);
