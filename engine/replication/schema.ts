/** The tables of the log (data/schema/log.sql): each start makes those that are missing, and so does the founding. */
import { readFileSync } from 'node:fs';
import type { Connection } from './connection.ts';

const SCHEMA_URL = new URL('../../data/schema/log.sql', import.meta.url);
/** An arbitrary number that nothing else in the database locks. */
const SCHEMA_LOCK = 7_214_001;

/** Two processes may start at once; the script is one transaction. */
export async function makeTables(connection: Connection): Promise<void> {
  const schema = readFileSync(SCHEMA_URL, 'utf8');
  await connection.runScript(`SELECT pg_advisory_xact_lock(${SCHEMA_LOCK});\n${schema}`);
}
