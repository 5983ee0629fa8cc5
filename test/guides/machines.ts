/**
 * The machines of a document about a cluster. Those of its database, db1 to db3, are as their packages leave them: on
 * db1 runs a new PostgreSQL, which lets in only its own machine, and the other two have none. The document makes a
 * primary and two standbys of them, as the user `postgres` of each. Each has a port and a data directory of its own
 * here, and so has each member.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/freePort.ts';
import { copyTemplate, IDENTITY, PROGRAMS, postgresFiles, USER } from '../support/postgresFiles.ts';
import type { Block } from './blocks.ts';

const SERVERS = ['db1', 'db2', 'db3'];
/** The network of the machines, as documents have it. */
const NETWORK = '10.0.0.0/24';

export class Machines {
  /** The names that documents use, and what stands for them here. */
  readonly names = new Map<string, string>();
  readonly #directory: string;
  readonly #ports = new Map<string, number>();

  /** The servers end with this process. */
  static async start(blocks: readonly Block[]): Promise<Machines> {
    const machines = new Machines(postgresFiles().directory);
    for (const server of SERVERS) await machines.#addServer(server);
    for (const member of new Set(blocks.flatMap(({ marks }) => marks.member ?? []))) await machines.#addMember(member);
    await machines.#install(SERVERS[0]!);
    return machines;
  }

  private constructor(directory: string) {
    this.#directory = directory;
    this.names.set(NETWORK, '127.0.0.1/32').set("listen_addresses = '*'", "listen_addresses = '127.0.0.1'");
  }

  /** Each machine has a port and a directory of its own. */
  settingsOf(member: string): string {
    return `export PORT=${this.#ports.get(member)} DATA_DIR="$PROJECT/data/live-${member}"`;
  }

  /** @returns a command that runs a program on a machine of the database, as the user who owns its files */
  on(server: string, program: string): string {
    const port = this.#ports.get(server);
    if (port === undefined) throw new Error(`there is no machine ${server}`);
    const { uid, gid } = IDENTITY;
    const identity = uid === undefined ? '' : `setpriv --reuid=${uid} --regid=${gid} --clear-groups `;
    const environment = `PATH='${PROGRAMS}':"$PATH" PGPORT=${port} PGHOST='${this.#directory}' PGUSER=postgres`;
    const shell = 'bash -aeuo pipefail -c';
    const quoted = `"$(cat <<'MACHINE'\n${program}\nMACHINE\n)"`;
    return `(cd '${this.#directory}' && ${identity}env ${environment} ${shell} ${quoted})`;
  }

  async #addServer(server: string): Promise<void> {
    const port = await freePort();
    this.#ports.set(server, port);
    this.names
      .set(`${server}:5432`, `127.0.0.1:${port}`)
      .set(`host=${server} port=5432`, `host=127.0.0.1 port=${port}`)
      .set(`/var/lib/postgresql/${server}`, join(this.#directory, server));
  }

  async #addMember(member: string): Promise<void> {
    const port = await freePort();
    this.#ports.set(member, port);
    this.names.set(`https://${member}.example.org`, `http://127.0.0.1:${port}`);
  }

  /** A port is not one of its settings: the others copy these. */
  async #install(server: string): Promise<void> {
    const data = join(this.#directory, server);
    await copyTemplate([data]);
    writeFileSync(join(data, 'pg_hba.conf'), 'local all,replication all trust\n');
    const settings = [`unix_socket_directories = '${this.#directory}'`, "shared_buffers = '32MB'"];
    appendFileSync(join(data, 'postgresql.conf'), `${settings.join('\n')}\n`);
    const role = `psql -q -U ${USER} -d postgres -c 'CREATE ROLE postgres SUPERUSER LOGIN'`;
    const program = `pg_ctl -D ${data} -l ${data}.log start\n${role}`;
    execFileSync('bash', ['-c', this.on(server, program)], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
}
