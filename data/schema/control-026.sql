-- A checksum of each row that money or access rests on (shared/base/rowSums.ts). The key is that of the row, as SQL
-- writes it; the row with an empty name says for which version of the tables the sums are.
CREATE TABLE row_sums (
  table_name TEXT NOT NULL,
  key        TEXT NOT NULL,
  sum        INTEGER NOT NULL,
  PRIMARY KEY (table_name, key)
) STRICT, WITHOUT ROWID;
