/** Runs the marked blocks of one document, in order and in a place of their own. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/freePort.ts';
import { NO_POSTGRES } from '../support/postgres.ts';
import { type Block, blocksOf } from './blocks.ts';
import { Commands, missingOf, type Server } from './commands.ts';
import { Machines } from './machines.ts';
import { differenceIn } from './printed.ts';
import { makePlace, ROOT } from './project.ts';

export type Outcome = {
  /** Absent: the path of the requested document. */
  readonly path?: string;
  readonly line: number;
  readonly section: string;
  readonly tookMs: number;
  readonly kind: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped; for a passed block, the figure that it measured, if any. */
  readonly reason: string;
};

const SHOWN_LINES = 40;
/** For documents that do not begin with a server of their own. */
const DEFAULT_SERVER = 'npm start';
/** Its clone has no packages. Each other clone has them already, which takes less of the processor than installing. */
const INSTALLS = 'README.md';

/** Where `npm run polymarket` listens by default; other programs of this machine may listen there. */
const POLYMARKET = '127.0.0.1:8095';

/** Sets up the database of a cluster: every other document about a cluster goes on from there. */
const CLUSTER_DOCUMENT = 'data/docs/cluster.md';
const SET_UP = 'The database';

/** Stops at the first failure: what follows depends on it. */
export async function* outcomesOf(path: string): AsyncGenerator<Outcome> {
  const blocks = runBlocksOf(path);
  if (blocks.length === 0) return;
  const isOfCluster = blocks.some(({ marks }) => marks.member !== null);
  if (isOfCluster && NO_POSTGRES !== false) {
    const { line, section } = blocks[0]!;
    yield { line, section, tookMs: 0, kind: 'skipped', reason: NO_POSTGRES };
    return;
  }
  const port = await freePort();
  const machines = isOfCluster ? await Machines.start(blocks) : null;
  const names = new Map([...(machines?.names ?? []), [POLYMARKET, `127.0.0.1:${await freePort()}`]]);
  const commands = new Commands(makePlace(port, path !== INSTALLS), port, names);
  const walk = new Walk(commands, machines);
  try {
    if (!blocks[0]!.marks.server && !isOfCluster) await walk.serve(DEFAULT_SERVER);
    const before = isOfCluster && path !== CLUSTER_DOCUMENT ? runBlocksOf(CLUSTER_DOCUMENT) : [];
    const setUp = before.filter(({ section, language }) => section === SET_UP && language === 'sh');
    for (const block of [...setUp, ...blocks]) {
      const startMs = performance.now();
      const outcome = await walk.outcomeOf(block);
      yield { line: block.line, section: block.section, tookMs: performance.now() - startMs, ...outcome };
      if (outcome.kind === 'failed') return;
    }
    await walk.stop();
  } finally {
    walk.end();
  }
}

function runBlocksOf(path: string): Block[] {
  return blocksOf(readFileSync(join(ROOT, path), 'utf8')).filter(
    ({ marks }) => marks.norun === null && (marks.run || !marks.root),
  );
}

class Failure extends Error {}

class Walk {
  readonly #commands: Commands;
  readonly #machines: Machines | null;
  #server: Server | null = null;
  readonly #members = new Map<string, Server>();
  /** The output of the last block, to compare; null: it was skipped. */
  #printed: string | null = null;

  constructor(commands: Commands, machines: Machines | null) {
    this.#commands = commands;
    this.#machines = machines;
  }

  async outcomeOf(block: Block): Promise<Pick<Outcome, 'kind' | 'reason'>> {
    try {
      const missing = await missingOf(block.marks.needs, this.#commands);
      if (missing.length === 0) return { kind: 'passed', reason: await this.#run(block) };
      this.#printed = null;
      return { kind: 'skipped', reason: `not on this machine: ${missing.join(', ')}` };
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return { kind: 'failed', reason: error.message };
    }
  }

  async serve(text: string): Promise<void> {
    await this.stop();
    const server = await this.#commands.serve(text);
    if ('code' in server) throw new Failure(`the exchange did not start:\n${lastOf(server.all)}`);
    this.#server = server;
  }

  /** The members of a cluster end one after the other, so that each hands the lead over while there is another. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server !== null && isRunning(server)) await this.#end(server);
    for (const name of [...this.#members.keys()]) await this.#endMember(name);
  }

  async #begin(name: string, text: string): Promise<void> {
    await this.#endMember(name);
    const server = await this.#commands.serve(`${this.#machines!.settingsOf(name)}\n${text}`);
    if ('code' in server) throw new Failure(`member ${name} did not start:\n${lastOf(server.all)}`);
    this.#members.set(name, server);
    await this.#commands.run(`MEMBER_GROUP_${name}=$SERVER_GROUP`);
  }

  async #endMember(name: string): Promise<void> {
    const server = this.#members.get(name);
    this.#members.delete(name);
    if (server !== undefined && isRunning(server)) await this.#end(server);
  }

  async #end(server: Server): Promise<void> {
    if (await this.#commands.stop(server)) return;
    throw new Failure(`the exchange did not stop in order:\n${lastOf(server.printed())}`);
  }

  end(): void {
    this.#commands.end();
  }

  async #run(block: Block): Promise<string> {
    const { marks, text, language } = block;
    if (marks.stopped) await this.stop();
    if (marks.output) this.#compare(text);
    if (marks.file !== null) await this.#command(writing(marks.file, text), 0);
    if (!marks.run) return '';
    if (marks.server) await this.serve(text);
    else if (language === 'console') await this.#dialogue(text, marks);
    else if (marks.member !== null) await this.#begin(marks.member, text);
    else if (marks.on !== null) await this.#command(this.#onMachine(marks.on, text), marks.exit);
    else await this.#command(commandOf(block), marks.exit);
    return '';
  }

  #onMachine(machine: string, text: string): string {
    if (this.#machines === null) throw new Failure('only a document with members has machines of a database');
    return this.#machines.on(machine, text);
  }

  /** Commands after `$ `, each with the output that is shown below it. */
  async #dialogue(text: string, { exit, member }: Block['marks']): Promise<void> {
    if (member !== null) await this.#endMember(member);
    for (const part of text.split(/^(?=\$ )/m)) {
      const [, command, shown] = /^\$ ((?:.*\\\n)*.*)\n?([\s\S]*)$/.exec(part) ?? [];
      if (command === undefined) throw new Failure('a console block begins with $ and a command');
      await this.#command(member === null ? command : `(${this.#machines!.settingsOf(member)}\n${command})`, exit);
      if (shown !== '') this.#compare(shown!);
    }
  }

  async #command(text: string, exit: number): Promise<void> {
    const { code, all } = await this.#commands.run(text);
    this.#printed = all;
    if (code !== exit) throw new Failure(`${text}\nended with ${code} instead of ${exit}:\n${lastOf(all)}`);
  }

  #compare(shown: string): void {
    if (this.#printed === null) return;
    const line = differenceIn(this.#printed, shown);
    if (line !== null) throw new Failure(`this line was not printed: ${line}\nprinted were:\n${lastOf(this.#printed)}`);
  }
}

/** False: the document has killed it. */
function isRunning({ process }: Server): boolean {
  return process.exitCode === null && process.signalCode === null;
}

function commandOf({ line, language, text }: Block): string {
  if (language === 'sh') return text;
  if (language === 'python') return `python3 - <<'GUIDE'\n${text}\nGUIDE`;
  // In the project's folder, so that it can import packages and the project by name.
  const file = `"$PROJECT/guide-${line}.ts"`;
  return `${writing(file, text)}\nnode "$PROJECT/shared/run.mjs" ${file}`;
}

function writing(file: string, text: string): string {
  return `mkdir -p "$(dirname ${file})"\ncat > ${file} <<'GUIDE'\n${text}\nGUIDE`;
}

function lastOf(text: string): string {
  return text.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n');
}
