-- What a file keeps about its records in the replicated log (shared/records/): made when an exchange with a replicated
-- log opens the file for the first time. Each member of a cluster has its own.

-- One row: the last record that this file contains, and the link of the next one.
CREATE TABLE IF NOT EXISTS record_end (
  id       INTEGER PRIMARY KEY CHECK (id = 0),
  sequence INTEGER NOT NULL CHECK (sequence >= 0),
  link     BLOB    NOT NULL CHECK (length(link) = 16)
) STRICT;

-- Records of this file that the log may not have yet.
CREATE TABLE IF NOT EXISTS record_queue (
  sequence INTEGER PRIMARY KEY,
  bytes    BLOB    NOT NULL
) STRICT;

-- What takes back each of them, should the log never hold it (shared/records/undo.ts). Only files that have it are
-- brought back to what the log holds; the others take back what they can by themselves.
CREATE TABLE IF NOT EXISTS record_undo (
  sequence INTEGER PRIMARY KEY,
  bytes    BLOB    NOT NULL
) STRICT;
