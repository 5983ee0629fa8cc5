import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  hasTooManyLines,
  idOfProvided,
  isBlank,
  linesOf,
  parseLine,
} from '../../../../gateway/markets/catalogueLines.ts';
import { MAX_IMPORT_LINES } from '../../../../shared/api/catalogue.ts';

function numbered(text: string): [number, string][] {
  const lines = [...linesOf(Buffer.from(text))].filter(({ bytes }) => !isBlank(bytes));
  return lines.map(({ number, bytes }) => [number, bytes.toString()]);
}

function refusalOf(line: string): string | undefined {
  const parsed = parseLine(Buffer.from(line));
  return 'refusal' in parsed ? parsed.refusal.message : undefined;
}

describe('the lines of a catalogue file (RULES.md 9.40)', () => {
  test('are numbered as an editor does, empty ones left out, with or without a newline at the end', () => {
    assert.deepEqual(numbered(''), []);
    assert.deepEqual(numbered('\n\n'), []);
    assert.deepEqual(numbered('a'), [[1, 'a']]);
    assert.deepEqual(numbered('a\n\n \t\r\nb\r\nc\n'), [
      [1, 'a'],
      [4, 'b\r'],
      [5, 'c'],
    ]);
  });

  test('that are empty come one by one as well, so that a body of blanks is read in turns', () => {
    assert.equal([...linesOf(Buffer.from(' \n'.repeat(999)))].length, 999);
    assert.ok(isBlank(Buffer.from(' '.repeat(65_536))));
    const tooLong = ' '.repeat(65_537);
    assert.ok(!isBlank(Buffer.from(tooLong)));
    assert.equal(refusalOf(tooLong), 'line too large');
  });

  test('of characters that JSON does not know as space are not empty', () => {
    for (const line of ['\0', '\0\0\0', '\x1f', '\u00a0', '\ufeff']) {
      assert.ok(!isBlank(Buffer.from(line)), JSON.stringify(line));
      assert.equal(refusalOf(line), 'body is not valid JSON', JSON.stringify(line));
    }
  });

  test('are counted no further than the bound', () => {
    assert.ok(!hasTooManyLines(Buffer.from('x\n'.repeat(MAX_IMPORT_LINES))));
    assert.ok(!hasTooManyLines(Buffer.from(`${'x\n'.repeat(MAX_IMPORT_LINES - 1)}x`)));
    assert.ok(hasTooManyLines(Buffer.from(`${'x\n'.repeat(MAX_IMPORT_LINES)}x`)));
  });

  test('hold one event or one market each, under the rules of a body', () => {
    assert.equal(refusalOf('{"event":{"slug":"a"}}'), undefined);
    assert.equal(refusalOf('{"market":{"event_slug":null}}\r'), undefined);
    assert.equal(refusalOf('{"event":{"slug":"a"},"market":{}}'), 'invalid body');
    assert.equal(refusalOf('{"user":{}}'), 'unknown field: user');
    assert.equal(refusalOf('{"event":{"slug":"a","titel":"x"}}'), 'unknown field: titel');
    assert.equal(refusalOf('{"market":{"titel":"x"}}'), 'unknown field: titel');
    assert.equal(refusalOf('{"event":{}}'), 'missing field: slug');
    assert.equal(refusalOf('{"market":{"id":"7"}}'), 'invalid id');
    assert.equal(refusalOf('{"market":{"line":"1"}}'), 'invalid line');
    assert.equal(refusalOf('[]'), 'invalid body');
    assert.equal(refusalOf(`{"market":{"description":"${'x'.repeat(65_536)}"}}`), 'line too large');
  });
});

describe('the id of a market that a provider names (RULES.md 9.41)', () => {
  test('is a UUID of version 8 from the SHA-256 of both names', () => {
    // printf '["market","weather","MON"]' | sha256sum begins with 21007cad75ca601284b609f6bc93ccd0.
    assert.equal(idOfProvided('weather', 'MON'), '21007cad-75ca-8012-84b6-09f6bc93ccd0');
  });

  test('keeps names apart that only together are the same text', () => {
    const names = [
      ['a', 'b","c'],
      ['a","b', 'c'],
      ['', 'abc'],
      ['abc', ''],
    ] as const;
    assert.equal(new Set(names.map(([source, event]) => idOfProvided(source, event))).size, names.length);
  });
});
