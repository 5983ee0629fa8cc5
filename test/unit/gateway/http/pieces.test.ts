import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PIECE_ROWS } from '../../../../gateway/http/longAnswers.ts';
import { okKept, TextsInTurns } from '../../../../gateway/http/pieces.ts';
import { TestCall } from '../../../support/calls.ts';

const ROWS = 5 * PIECE_ROWS + 1;

/** @param log gets the name whenever rows of another text have come before. */
function* rowsOf(name: string, log: string[] = []): Generator<string> {
  for (let row = 0; row < ROWS; row++) {
    if (log.at(-1) !== name) log.push(name);
    yield `${name}${row},`;
  }
}

function wholeText(name: string): string {
  return Array.from({ length: ROWS }, (_, row) => `${name}${row},`).join('');
}

describe('texts in turns', () => {
  test('are whole, and take turns piece by piece', async () => {
    const log: string[] = [];
    const turns = new TextsInTurns(() => false);
    const texts = await Promise.all(['a', 'b', 'c'].map((name) => turns.join(rowsOf(name, log))));
    assert.deepEqual(texts.map(String), ['a', 'b', 'c'].map(wholeText));
    // A piece that takes long is shorter, so a text has six pieces or more, and none ends in its fifth.
    assert.equal(log.slice(0, 15).join(''), 'abc'.repeat(5));
  });

  test('leave the event loop to others between two pieces, however many there are', async () => {
    const turns = new TextsInTurns(() => false);
    const log: string[] = [];
    const texts = ['a', 'b'].map((name) => turns.join(rowsOf(name, log)));
    let others = 0;
    const other = (): void => {
      others++;
      if (log.length < 12) setImmediate(other);
    };
    setImmediate(other);
    await Promise.all(texts);
    assert.ok(others >= 11, `${others} turns of others in the 11 gaps between 12 pieces`);
  });

  test('are UTF-8, whatever their characters and wherever they are cut', async () => {
    const rows = Array.from({ length: ROWS }, (_, row) => 'aé–🏈'.repeat(row % 3));
    assert.deepEqual(await new TextsInTurns(() => false).join(rows.values()), Buffer.from(rows.join('')));
  });

  test('that fail do not take the others with them, and the next one starts', async () => {
    const turns = new TextsInTurns(() => false);
    const failing = (function* (): Generator<string> {
      yield 'start';
      throw new Error('half way');
    })();
    const [failed, whole] = await Promise.allSettled([turns.join(failing), turns.join(rowsOf('a'))]);
    assert.equal(failed.status, 'rejected');
    assert.deepEqual(whole, { status: 'fulfilled', value: Buffer.from(wholeText('a')) });
    assert.equal(String(await turns.join([].values())), '');
  });
});

/** The pieces that this answer is written in. */
async function piecesOf(answer: (asked: TestCall) => void): Promise<(string | Buffer)[]> {
  const asked = new TestCall({ method: 'GET', path: '/' });
  const pieces: (string | Buffer)[] = [];
  const keep = (piece: string | Buffer): boolean => pieces.push(piece) > 0;
  Object.assign(asked.call.response, { write: keep, end: keep, onWritable: () => undefined });
  answer(asked);
  await asked.answered;
  return pieces;
}

test('kept bytes are sent as they are, and long ones whole in pieces, whatever their characters', async () => {
  const kept = Buffer.from('x'.repeat(128 * 1024));
  assert.deepEqual(await piecesOf(({ call }) => okKept(call, kept)), [kept]);
  for (const characters of ['a', 'aé', '–', '🏈', 'a🏈é–']) {
    const long = characters.repeat(140_000);
    const pieces = await piecesOf(({ call }) => okKept(call, Buffer.from(long)));
    assert.ok(pieces.length > 1, `${pieces.length} pieces`);
    assert.ok(pieces.join('') === long, characters);
    assert.ok(pieces.every((piece) => Buffer.byteLength(piece) <= 128 * 1024));
  }
});
