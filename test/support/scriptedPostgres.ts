/**
 * A PostgreSQL controlled by a test: it speaks the protocol on a real port, is a primary or a standby, and stops at any
 * point of it. Messages that it holds back are sent when it goes on.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Scope } from './server.ts';

/** `handshake`: before the first byte; `facts`: when asked for its state; `statements`: at everything after that. */
type Place = 'handshake' | 'facts' | 'statements';

/** One column for each name. */
type Row = Readonly<Record<string, string | number | boolean>>;

type ScriptedAnswer = {
  readonly rows?: readonly Row[];
  /** A message of a commit that did not wait for the standbys. */
  readonly hasWarning?: boolean;
  readonly error?: string;
  /** Code of the error. */
  readonly code?: string;
};

/** Types of columns. */
const OIDS = { boolean: 16, number: 701, string: 25 } as const;
const PID = 4711;
const SSL_REQUEST = 80_877_103;

export class ScriptedPostgres {
  isStandby = false;
  timeline = 1;
  standbys = 'ANY 1 (s1, s2)';
  commit = 'on';
  fsync = 'on';
  fullPages = 'on';
  readOnly = 'off';
  /** New connections are reset. */
  isRefusing = false;
  /** The place at which it ends the connection without an answer. */
  closesAt: Place | null = null;
  /** The answer to a statement, by its name. */
  answer: (name: string) => ScriptedAnswer = () => ({});
  /** Names of the statements that have come, in order, over all connections. */
  readonly statements: string[] = [];
  /** The number of times that it was asked for its state. */
  asked = 0;
  #hangsAt: Place | null = null;
  readonly #server: Server = createServer((socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();
  readonly #held: (() => void)[] = [];

  static async start(scope: Scope): Promise<ScriptedPostgres> {
    const postgres = new ScriptedPostgres();
    postgres.#server.listen(0, '127.0.0.1');
    await once(postgres.#server, 'listening');
    scope.after(() => {
      postgres.cut();
      postgres.#server.close();
    });
    return postgres;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that are open at this side. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Messages that are held back. */
  get held(): number {
    return this.#held.length;
  }

  /** From this place on nothing is answered. */
  hang(at: Place): void {
    this.#hangsAt = at;
  }

  /** Sends the messages held back. */
  goOn(): void {
    this.#hangsAt = null;
    for (const send of this.#held.splice(0)) send();
  }

  /** Ends every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    if (this.isRefusing) {
      socket.resetAndDestroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    const session = new Session((place, message) => {
      if (message === 'leave') socket.end();
      else this.#reach(place, socket, () => socket.write(this.#reply(message)));
    });
    socket.on('data', (piece: Buffer) => session.read(piece));
  }

  #reach(place: Place, socket: Socket, send: () => void): void {
    if (this.closesAt === place) socket.destroy();
    // A hanging server does not answer later messages first.
    else if (this.#hangsAt === place || this.#held.length > 0) this.#held.push(() => !socket.destroyed && send());
    else send();
  }

  #reply(message: Asked): Buffer {
    if (message === 'startup') {
      return Buffer.concat([packet('R', int32(0)), packet('K', int32(PID), int32(1)), READY]);
    }
    if (message === 'facts') {
      this.asked++;
      return Buffer.concat([rowsOf([this.#facts()], false), READY]);
    }
    const { name } = message;
    this.statements.push(name);
    const { rows = [], hasWarning = false, error, code } = this.answer(name);
    const warning = hasWarning ? problem('N', 'WARNING', 'canceling wait for synchronous replication') : NOTHING;
    const isAnswered = error === undefined;
    return Buffer.concat([warning, isAnswered ? rowsOf(rows, true) : problem('E', 'ERROR', error, code), READY]);
  }

  #facts(): Row {
    return {
      pid: PID,
      is_standby: this.isStandby,
      timeline: this.isStandby ? '0' : this.timeline.toString(16).padStart(8, '0'),
      system: '1',
      lsn: '0/1',
      standbys: this.standbys,
      commit: this.commit,
      fsync: this.fsync,
      full_pages: this.fullPages,
      read_only: this.readOnly,
    };
  }
}

type Asked = 'startup' | 'facts' | { readonly name: string };

/** The messages of one connection. A statement consists of the messages up to its Sync. */
class Session {
  readonly #onAsked: (place: Place, asked: Asked | 'leave') => void;
  #bytes: Buffer = Buffer.alloc(0);
  #isStarted = false;
  #name = '';

  constructor(onAsked: (place: Place, asked: Asked | 'leave') => void) {
    this.#onAsked = onAsked;
  }

  read(piece: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, piece]);
    for (;;) {
      const lengthAt = this.#isStarted ? 1 : 0;
      if (this.#bytes.length < lengthAt + 4) return;
      const end = lengthAt + this.#bytes.readInt32BE(lengthAt);
      if (this.#bytes.length < end) return;
      const kind = this.#isStarted ? String.fromCharCode(this.#bytes[0]!) : '';
      const body = this.#bytes.subarray(lengthAt + 4, end);
      this.#bytes = this.#bytes.subarray(end);
      this.#take(kind, body);
    }
  }

  #take(kind: string, body: Buffer): void {
    if (kind === '') {
      if (body.readInt32BE(0) === SSL_REQUEST) throw new Error('it has no TLS');
      this.#isStarted = true;
      this.#onAsked('handshake', 'startup');
    } else if (kind === 'Q') {
      const isFacts = body.includes('pg_is_in_recovery');
      this.#onAsked(isFacts ? 'facts' : 'statements', isFacts ? 'facts' : { name: 'script' });
    } else if (kind === 'B') {
      const nameAt = body.indexOf(0) + 1;
      this.#name = body.toString('utf8', nameAt, body.indexOf(0, nameAt));
    } else if (kind === 'S') this.#onAsked('statements', { name: this.#name });
    else if (kind === 'X') this.#onAsked('statements', 'leave');
  }
}

const NOTHING = Buffer.alloc(0);
const READY = packet('Z', Buffer.from('I'));

function packet(kind: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

/** @param isPrepared the statement was parsed and bound before */
function rowsOf(rows: readonly Row[], isPrepared: boolean): Buffer {
  const columns = Object.keys(rows[0] ?? {});
  const described = columns.map((name) => {
    const oid = OIDS[typeof rows[0]![name] as keyof typeof OIDS];
    return Buffer.concat([text(name), int32(0), int16(0), int32(oid), int16(-1), int32(-1), int16(0)]);
  });
  const before = isPrepared ? [packet('1'), packet('2')] : [];
  const description = columns.length === 0 ? packet('n') : packet('T', int16(columns.length), ...described);
  const data = rows.map((row) =>
    packet('D', int16(columns.length), ...columns.map((name) => sized(asText(row[name]!)))),
  );
  return Buffer.concat([...before, description, ...data, packet('C', text(`SELECT ${rows.length}`))]);
}

function problem(kind: 'E' | 'N', severity: string, message: string, code = '01000'): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${code}`, `M${message}`];
  return packet(kind, ...fields.map(text), Buffer.from([0]));
}

function asText(value: string | number | boolean): Buffer {
  return Buffer.from(typeof value === 'boolean' ? (value ? 't' : 'f') : String(value));
}

function sized(bytes: Buffer): Buffer {
  return Buffer.concat([int32(bytes.length), bytes]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
