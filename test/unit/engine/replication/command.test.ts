import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindMessage, Command } from '../../../../engine/replication/command.ts';

const APPEND = { name: 'append', text: 'INSERT INTO log VALUES ($1, $2)' };

test('a statement and its values are one message each of Bind, Execute and Sync', () => {
  const message = bindMessage('append', ['\u00e9', [Uint8Array.of(1, 2), Uint8Array.of(), Uint8Array.of(3)], '']);
  const bind = [
    ...['B', '\0\0\0\x29', '\0', 'append\0'],
    ...['\0\x03', '\0\0', '\0\x01', '\0\0', '\0\x03'],
    ...['\0\0\0\x02', '\u00c3\u00a9', '\0\0\0\x03', '\x01\x02\x03', '\0\0\0\0', '\0\0'],
  ];
  const execute = ['E', '\0\0\0\x09', '\0', '\0\0\0\0'];
  const sync = ['S', '\0\0\0\x04'];
  assert.equal(message.toString('latin1'), [...bind, ...execute, ...sync].join(''));
  assert.equal(message.readInt32BE(1), bind.join('').length - 1);
});

test('a statement is parsed once in a connection, and not again while its first use is underway', () => {
  const { wire, sent } = wireOf(true);
  new Command(APPEND, ['1', '2'], () => {}).submit(wire);
  new Command(APPEND, ['3', '4'], () => {}).submit(wire);
  Object.assign(wire, { parsedStatements: { append: APPEND.text }, submittedNamedStatements: {} });
  new Command(APPEND, ['5', '6'], () => {}).submit(wire);
  const bindsOf = (...values: string[]) => bindMessage('append', values);
  assert.deepEqual(sent, [APPEND, bindsOf('1', '2'), bindsOf('3', '4'), bindsOf('5', '6')]);
});

test('a statement ends when the server is ready for the next one, with the number of rows it has changed', () => {
  const ends: [Error | null, number][] = [];
  const append = new Command(APPEND, [], (error, count) => ends.push([error, count]));
  append.handleCommandComplete({ text: 'INSERT 0 27' });
  assert.deepEqual(ends, []);
  append.handleReadyForQuery();
  assert.deepEqual(ends, [[null, 27]]);
});

test('without a connection that can be written nothing is sent', () => {
  const { wire, sent } = wireOf(false);
  new Command(APPEND, [], () => {}).submit(wire);
  assert.deepEqual(sent, [APPEND]);
});

function wireOf(writable: boolean) {
  const sent: unknown[] = [];
  const stream = { writable, write: (message: Buffer) => sent.push(message) };
  const wire = {
    stream,
    parsedStatements: {},
    submittedNamedStatements: {} as Record<string, string>,
    parse: (statement: unknown) => sent.push(statement),
  };
  return { wire: wire as unknown as Parameters<Command['submit']>[0], sent };
}
