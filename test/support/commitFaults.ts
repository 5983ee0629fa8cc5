/** Commits that are interrupted while they wait for the standbys of their database. */
import { eventually } from './eventually.ts';
import type { startPostgres } from './postgres.ts';

type Postgres = Awaited<ReturnType<typeof startPostgres>>;

/** While no standby answers, commits that wait for one are interrupted, `times` times. */
export async function interruptCommits(
  { primary, standbys }: Postgres,
  how: 'pg_cancel_backend' | 'pg_terminate_backend',
  times: number,
): Promise<void> {
  for (const standby of standbys) standby.hang();
  try {
    for (let time = 0; time < times; time++) {
      await eventually('a commit that waits for the standbys', async () => {
        const waiting = "pg_stat_activity WHERE wait_event = 'SyncRep'";
        return (await primary.query(`SELECT ${how}(pid) FROM ${waiting}`)).length > 0;
      });
    }
  } finally {
    for (const standby of standbys) standby.goOn();
  }
}
