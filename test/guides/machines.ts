/**
 * The machines of a document about a cluster: the servers of its database, db1 to db3, are a real PostgreSQL with two
 * synchronous standbys (test/support/postgres.ts), and each member has an address and a data directory of its own here.
 */
import { freePort } from '../support/freePort.ts';
import { startPostgres } from '../support/postgres.ts';
import type { Block } from './blocks.ts';

const ports = new Map<string, number>();

/** @returns the names that the document uses, and what stands for them. The servers end with this process. */
export async function machinesOf(blocks: readonly Block[]): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const postgres = await startPostgres({ after: () => {} });
  for (const [index, { port, data }] of Object.values(postgres.nodes).entries()) {
    names.set(`db${index + 1}:5432`, `127.0.0.1:${port}`);
    names.set(`host=db${index + 1} port=5432`, `host=127.0.0.1 port=${port}`);
    names.set(`/var/lib/postgresql/db${index + 1}`, data);
  }
  await postgres.primary.query('CREATE ROLE postgres SUPERUSER LOGIN');
  for (const member of new Set(blocks.flatMap(({ marks }) => marks.member ?? []))) {
    const port = await freePort();
    ports.set(member, port);
    names.set(`https://${member}.example.org`, `http://127.0.0.1:${port}`);
  }
  return names;
}

/** Each machine has a port and a directory of its own. Its start is one of many, and no orders wait for it. */
export function settingsOf(member: string): string {
  return `export PORT=${ports.get(member)} DATA_DIR="$PROJECT/data/live-${member}" REHEARSE=off`;
}
