/**
 * The next version of the project, in a folder of its own: its journals have rows of a newer format, and its control.db
 * and settlement.db have another table and more columns, which it writes once the cluster is raised to them. Everything
 * else is unchanged.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FORMATS } from '../../shared/base/formats.ts';
import { ProjectCopy } from './projectCopy.ts';

const { control, settlement } = FORMATS;
export const NEXT_JOURNAL = 4;
export const NEXT_CONTROL = control.newest + 1;
export const NEXT_SETTLEMENT = settlement.newest + 1;
const NEXT = {
  version: '99.0.0',
  journal: `{ newest: ${NEXT_JOURNAL}, oldest: 3 }`,
  control: `{ newest: ${NEXT_CONTROL}, oldest: ${control.oldest} }`,
  migration: `control-0${NEXT_CONTROL}.sql`,
  settlement: `{ newest: ${NEXT_SETTLEMENT}, oldest: ${settlement.oldest} }`,
  settlementMigration: `settlement-00${NEXT_SETTLEMENT}.sql`,
};
const MIGRATION = `
  CREATE TABLE badges (account_index INTEGER PRIMARY KEY REFERENCES users (account_index), name TEXT NOT NULL) STRICT;
  ALTER TABLE api_keys ADD COLUMN label TEXT NOT NULL DEFAULT '';
`;
/** Rows of the one table are records, and rows of the other one are derived as well. */
const SETTLEMENT_MIGRATION = `
  CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
  ALTER TABLE jobs ADD COLUMN note TEXT NOT NULL DEFAULT '';
  ALTER TABLE work ADD COLUMN note TEXT NOT NULL DEFAULT '';
`;

/** @returns the folder. */
export function nextVersion(): string {
  const copy = new ProjectCopy();
  const { version } = JSON.parse(copy.read('package.json')) as { version: string };
  copy.change('package.json', `"version": "${version}"`, `"version": "${NEXT.version}"`);
  copy.change('shared/base/formats.ts', 'journal: { newest: 3, oldest: 3 }', `journal: ${NEXT.journal}`);
  const { newest, oldest } = control;
  copy.change(
    'shared/base/formats.ts',
    `control: { newest: ${newest}, oldest: ${oldest} }`,
    `control: ${NEXT.control}`,
  );
  const { newest: first, oldest: least } = settlement;
  copy.change(
    'shared/base/formats.ts',
    `settlement: { newest: ${first}, oldest: ${least} }`,
    `settlement: ${NEXT.settlement}`,
  );
  const last = `'settlement-00${first}.sql'];`;
  copy.change('engine/settlement/settlementDb.ts', last, last.replace(']', `, '${NEXT.settlementMigration}']`));
  copy.change('engine/settlement/recordedTables.ts', "  news: 'derived',", "  news: 'derived',\n  notes: 'recorded',");
  writeFileSync(join(copy.root, 'data/schema', NEXT.settlementMigration), SETTLEMENT_MIGRATION);
  writeFileSync(join(copy.root, 'data/schema', NEXT.migration), MIGRATION);
  const insert = 'INSERT INTO api_keys VALUES ($key_id, $account_index, $sealed_secret, $passphrase_hash, $policy';
  const columns =
    'key_id, account_index, sealed_secret, passphrase_hash, policy, expires_ms, revoked_ms, created_ms, ahead_sec';
  copy.change('gateway/access/keys.ts', insert, insert.replace('VALUES', `(${columns}) VALUES`));
  return copy.root;
}
