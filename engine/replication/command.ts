/**
 * A statement that returns no rows, as one buffer with all that the server needs for it: Bind, Execute and Sync. The
 * driver's own query would send the three messages one by one, ask for a description of rows although there are none,
 * and copy the values twice. All of that would delay each append, in a thread that runs the code too seldom for V8 to
 * optimise it.
 */
import type { Socket } from 'node:net';
import pg from 'pg';

/** The database keeps its plan under the name. */
export type Statement = { readonly name: string; readonly text: string };

/** A value as text, or the parts of a binary value. */
export type CommandValue = string | readonly Uint8Array[];

/** The driver's connection. */
type Wire = {
  readonly stream: Socket;
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(statement: Statement): void;
};

const INT16 = 2;
const INT32 = 4;
const TEXT = 0;
const BINARY = 1;
/** Execute for the unnamed portal, without a row limit; then Sync, the end of the transaction. */
const EXECUTE_AND_SYNC = Buffer.from('E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04', 'latin1');

export class Command {
  readonly name: string;
  readonly text: string;
  readonly #bind: Buffer;
  readonly #done: (error: Error | null, count: number) => void;
  #count = 0;

  /** @param done gets the number of rows that the statement has changed */
  constructor(
    statement: Statement,
    values: readonly CommandValue[],
    done: (error: Error | null, count: number) => void,
  ) {
    this.name = statement.name;
    this.text = statement.text;
    this.#bind = bindMessage(statement.name, values);
    this.#done = done;
  }

  submit(wire: Wire): null {
    const { name, text } = this;
    const isParsed = name in wire.parsedStatements || name in wire.submittedNamedStatements;
    if (!isParsed) {
      wire.parse({ name, text });
      wire.submittedNamedStatements[name] = text;
    }
    // Without the stream the driver reports an error for each statement that was sent.
    if (wire.stream.writable) wire.stream.write(this.#bind);
    return null;
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = Number(text.slice(text.lastIndexOf(' ') + 1));
  }

  handleReadyForQuery(): void {
    this.#done(null, this.#count);
  }

  handleError(error: Error): void {
    this.#done(error, 0);
  }
}

// In a pipeline the driver accepts only its own Query objects. Their constructor would make an event emitter and a
// result, which takes longer than all other preparation of an append.
Object.setPrototypeOf(Command.prototype, pg.Query.prototype);

/** Bind for the unnamed portal, followed by Execute and Sync. */
export function bindMessage(name: string, values: readonly CommandValue[]): Buffer {
  const lengths = values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : lengthOf(value)));
  const nameBytes = Buffer.byteLength(name) + 1;
  const valueBytes = lengths.reduce((sum, length) => sum + INT16 + INT32 + length, 0);
  const bindBytes = INT32 + 1 + nameBytes + INT16 + INT16 + valueBytes + INT16;
  const message = Buffer.allocUnsafe(1 + bindBytes + EXECUTE_AND_SYNC.length);
  let at = message.write('B', 'latin1');
  at = message.writeInt32BE(bindBytes, at);
  at = message.writeInt8(0, at);
  at += message.write(`${name}\0`, at);
  at = message.writeInt16BE(values.length, at);
  for (const value of values) at = message.writeInt16BE(typeof value === 'string' ? TEXT : BINARY, at);
  at = message.writeInt16BE(values.length, at);
  for (const [index, value] of values.entries()) {
    at = message.writeInt32BE(lengths[index], at);
    if (typeof value === 'string') {
      at += message.write(value, at);
      continue;
    }
    for (const part of value) {
      message.set(part, at);
      at += part.length;
    }
  }
  at = message.writeInt16BE(0, at);
  message.set(EXECUTE_AND_SYNC, at);
  return message;
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
