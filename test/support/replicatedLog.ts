/** Members of a cluster on a real PostgreSQL, for the tests of the replicated log. */
import { PostgresLog, type PostgresLogOptions } from '../../engine/replication/postgresLog.ts';
import { FORMATS } from '../../shared/base/formats.ts';
import type { NewRow } from '../../shared/wire/replication.ts';
import type { Scope } from './server.ts';

/** The log as the member `holder` has it open, until the test has ended. */
export async function openLog(
  scope: Scope,
  url: string,
  holder: string,
  options: Partial<PostgresLogOptions> = {},
): Promise<PostgresLog> {
  const log = await PostgresLog.open({
    url,
    cluster: 'exchange',
    holder,
    address: `http://${holder}:8080`,
    version: '1.0.0',
    isUnreplicatedAllowed: false,
    isUnsyncedAllowed: true,
    facts: { shards: '2' },
    formats: FORMATS,
    ...options,
  });
  scope.after(() => log.close());
  return log;
}

/** A row with bytes of its own. */
export function newRow(stream: number, sequence: number, lengthBytes = 40): NewRow {
  return { stream, sequence, bytes: new Uint8Array(lengthBytes).fill(stream * 16 + sequence) };
}
