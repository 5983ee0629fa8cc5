-- Dead-man's switches that were triggered, until every shard has cancelled the orders of the account (RULES.md 7.8).
CREATE TABLE triggered_switches (
  account_index INTEGER PRIMARY KEY REFERENCES users (account_index),
  triggered_ms  INTEGER NOT NULL
) STRICT;
