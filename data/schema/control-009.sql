-- control.db, version 9: revisions of the catalogue. Every change of a market or an event takes the next number, which
-- stays in the row until its next change; taking a market away takes a number too. The read model follows the catalogue
-- by them.

CREATE TABLE catalogue_revision (
  id       INTEGER PRIMARY KEY CHECK (id = 0),
  revision INTEGER NOT NULL          -- of the latest change
) STRICT;

ALTER TABLE events ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE markets ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
UPDATE events SET revision = event_index + 1;
UPDATE markets SET revision = (SELECT count(*) FROM events) + market_index + 1;
INSERT INTO catalogue_revision VALUES (0, (SELECT count(*) FROM events) + (SELECT count(*) FROM markets));
CREATE UNIQUE INDEX events_revision ON events (revision);
CREATE UNIQUE INDEX markets_revision ON markets (revision);
