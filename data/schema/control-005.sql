-- control.db, version 5: the open orders that single accounts may have, where they differ from the configuration (NULL:
-- they do not).

CREATE TABLE open_order_bounds (
  account_index  INTEGER PRIMARY KEY REFERENCES users (account_index),
  in_all         INTEGER,
  in_market      INTEGER
) STRICT;
