/**
 * The network between one member of a cluster and the servers of its log. It can be slow, refuse connections, end them,
 * and lose data in one direction or both. Lost data arrives once the network is well again, because TCP sends it again,
 * even if its sender has given up the connection in the meantime.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Scope } from './server.ts';

type Direction = 'toLog' | 'toMember';
/** A name of a prepared statement as it is sent. */
const APPEND = Buffer.from('append\0');

export class LogLine {
  /** Time that a piece takes in one direction. */
  delayMs: () => number = () => 0;
  /** New connections are refused. */
  isRefusing = false;
  readonly #held = new Set<Direction>();
  readonly #servers: Server[] = [];
  readonly #pairs = new Set<readonly Socket[]>();
  readonly #flows = new Set<Flow>();
  #resets = 0;

  /** @param ports of the servers of the log, in an order that `ports` keeps */
  static async start(scope: Scope, ports: readonly number[]): Promise<LogLine> {
    const line = new LogLine();
    for (const port of ports) {
      const server = createServer((member) => line.#join(member, port)).listen(0, '127.0.0.1');
      line.#servers.push(server);
      await once(server, 'listening');
    }
    scope.after(() => {
      line.heal();
      line.cut();
      for (const server of line.#servers) server.close();
    });
    return line;
  }

  get ports(): readonly number[] {
    return this.#servers.map((server) => (server.address() as AddressInfo).port);
  }

  /** Loses data without notifying either side. */
  lose(...directions: Direction[]): void {
    for (const direction of directions) this.#held.add(direction);
  }

  isLosing(direction: Direction): boolean {
    return this.#held.has(direction);
  }

  /** Ends every connection, with a word. */
  cut(): void {
    for (const sockets of this.#pairs) for (const socket of sockets) reset(socket);
  }

  /** The next appends arrive, and their connections are reset before an answer comes. */
  resetAtAppends(count: number): void {
    this.#resets = count;
  }

  heal(): void {
    this.delayMs = () => 0;
    this.isRefusing = false;
    this.#resets = 0;
    this.#held.clear();
    for (const flow of this.#flows) flow.pump();
  }

  #join(member: Socket, port: number): void {
    if (this.isRefusing) {
      member.resetAndDestroy();
      return;
    }
    const log = connect(port, '127.0.0.1');
    const pair = [member, log];
    this.#pairs.add(pair);
    const flows = [new Flow(this, 'toLog', member, log), new Flow(this, 'toMember', log, member)];
    for (const flow of flows) this.#flows.add(flow);
    flows[0]!.onSent = (piece) => {
      if (this.#resets === 0 || !piece.includes(APPEND)) return;
      this.#resets--;
      reset(member);
    };
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        if (!member.destroyed || !log.destroyed) return;
        this.#pairs.delete(pair);
        for (const flow of flows) this.#flows.delete(flow);
      });
    }
  }
}

/** A socket whose end is on its way cannot be reset: Node would never have done with it. */
function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

/** The pieces underway in one direction of one connection. */
class Flow {
  onSent: (piece: Buffer) => void = () => {};
  readonly #line: LogLine;
  readonly #direction: Direction;
  readonly #to: Socket;
  /** In order; null is the end of the connection. */
  readonly #underway: { readonly dueMs: number; readonly piece: Buffer | null }[] = [];

  constructor(line: LogLine, direction: Direction, from: Socket, to: Socket) {
    this.#line = line;
    this.#direction = direction;
    this.#to = to;
    from.on('data', (piece: Buffer) => this.#take(piece));
    from.on('close', () => this.#take(null));
  }

  /** Sends on the pieces that are due. */
  pump(): void {
    for (;;) {
      const first = this.#underway[0];
      if (first === undefined || this.#line.isLosing(this.#direction)) return;
      const waitMs = first.dueMs - performance.now();
      if (waitMs > 0) {
        setTimeout(() => this.pump(), waitMs).unref();
        return;
      }
      this.#underway.shift();
      if (first.piece === null) this.#to.end();
      else {
        this.#to.write(first.piece);
        this.onSent(first.piece);
      }
    }
  }

  #take(piece: Buffer | null): void {
    this.#underway.push({ dueMs: performance.now() + this.#line.delayMs(), piece });
    this.pump();
  }
}
