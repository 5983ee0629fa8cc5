import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_DEPTH, MAX_PARTS, parseStrictJson } from '../../../../gateway/http/body.ts';

function accepted(text: string): unknown {
  const result = parseStrictJson(Buffer.from(text));
  assert.ok(result.ok, `refused ${text}`);
  return result.value;
}

function refused(bytes: string | Buffer): string {
  const result = parseStrictJson(Buffer.from(bytes));
  assert.ok(!result.ok, `accepted ${bytes}`);
  return result.message;
}

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

describe('parseStrictJson', () => {
  it('reads what JSON.parse reads', () => {
    const texts = [
      '{}',
      '[]',
      'null',
      '"text"',
      '-1.5e3',
      '{"a":{"b":[1,{"c":"}]:,"}]},"d":"\\"\\\\:{"}',
      '{"é":"ü","\\u00fc":"\\ud83d\\ude00"}',
      ' {"a" : 1 , "b" : [ ] } ',
    ];
    for (const text of texts) assert.deepEqual(accepted(text), JSON.parse(text));
  });

  it('refuses what is not JSON', () => {
    const texts = [
      '{',
      '{"a":1',
      '{a:1}',
      "{'a':1}",
      '{"a":1,}',
      '[1,]',
      'nul',
      '01',
      '"a',
      '{"a":1}x',
      '\ufeff{}',
      '}',
    ];
    for (const text of texts) assert.equal(refused(text), 'body is not valid JSON', text);
  });

  it('refuses an empty body where one is needed', () => {
    assert.equal(refused(''), 'missing body');
  });

  it('refuses a name that is given twice, at any depth', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":1,"b":2,"a":3}', '[{"x":{"a":1,"a":2}}]', '{"":0,"":0}']) {
      assert.equal(refused(text), 'body has a duplicate field', text);
    }
  });

  it('sees through escapes when it compares names', () => {
    assert.equal(refused('{"side":1,"\\u0073ide":2}'), 'body has a duplicate field');
    assert.equal(refused('{"\\u0061":1,"\\u0061":2}'), 'body has a duplicate field');
  });

  it('refuses half a surrogate pair, in a text or a name, and nothing that only looks like one', () => {
    const texts = [
      '"\\ud800"',
      '"a\\uDC00b"',
      '{"title":["\\udc00\\ud800"]}',
      '{"\\ud83d":1}',
      '"\\ud83d\\ud83d\\ude00"',
    ];
    for (const text of texts) assert.match(refused(text), /^body has half a surrogate pair/, text);
    for (const text of ['"\\\\ud800"', '"\\u00fc"', '"😀"', '"\\uD83D\\uDE00"']) {
      assert.equal(accepted(text), JSON.parse(text));
    }
  });

  it('lets different objects use the same name', () => {
    assert.deepEqual(accepted('[{"a":1},{"a":2},{"b":{"a":3}}]'), [{ a: 1 }, { a: 2 }, { b: { a: 3 } }]);
  });

  it('counts members of integer names too', () => {
    assert.deepEqual(accepted('{"2":0,"1":0}'), { 1: 0, 2: 0 });
    assert.equal(refused('{"1":0,"1":0}'), 'body has a duplicate field');
  });

  it('refuses more parts than any request needs before it parses them, whatever they are', () => {
    const message = `body has more than ${MAX_PARTS} parts`;
    const list = (count: number): string => `[${'1,'.repeat(count)}1]`;
    const object = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"k${index}":${index}`).join()}}`;
    const quotes = (count: number): string => `"${'\\"'.repeat(count)}"`;
    assert.equal((accepted(list(MAX_PARTS)) as number[]).length, MAX_PARTS + 1);
    assert.equal(refused(list(MAX_PARTS + 1)), message);
    // Each member counts twice, except the last: its colon and the comma after it.
    assert.equal(Object.keys(accepted(object(MAX_PARTS / 2)) as object).length, MAX_PARTS / 2);
    assert.equal(refused(object(MAX_PARTS / 2 + 1)), message);
    assert.equal((accepted(quotes(MAX_PARTS)) as string).length, MAX_PARTS);
    assert.equal(refused(quotes(MAX_PARTS + 1)), message);
    // Commas and colons inside of a string do not count.
    assert.equal((accepted(`"${',:'.repeat(MAX_PARTS)}"`) as string).length, 2 * MAX_PARTS);
  });

  it('accepts the last allowed depth and refuses one more', () => {
    accepted(nested(MAX_DEPTH));
    assert.match(refused(nested(MAX_DEPTH + 1)), /deeper than 8/);
    assert.match(refused(`${'{"a":'.repeat(9)}1${'}'.repeat(9)}`), /deeper than 8/);
  });

  it('answers nesting that would exhaust the stack', () => {
    assert.match(refused('['.repeat(1_000_000)), /deeper than 8/);
    assert.match(refused('{"a":'.repeat(200_000)), /deeper than 8/);
  });

  it('does not count brackets and colons inside strings', () => {
    assert.equal(accepted('"[[[[[[[[[[[[::::"'), '[[[[[[[[[[[[::::');
    accepted('{"a[[[[[[[[[[":"\\"[[[[[[[[[[[["}');
  });

  it('ends a string at its unescaped quote only', () => {
    for (const text of ['{"a\\"":1,"b":"\\\\"}', '["\\\\\\":[[[[[[[[[[\\\\"]', '"\\\\\\\\"']) {
      assert.deepEqual(accepted(text), JSON.parse(text));
    }
    assert.equal(refused(`"${'\\'.repeat(60_001)}"`), 'body is not valid JSON');
  });

  it('refuses the names that lead to a prototype, escaped or not', () => {
    for (const name of ['__proto__', 'constructor', 'prototype', '\\u005f_proto__']) {
      assert.match(refused(`{"a":[{"${name}":{"isAdmin":true}}]}`), /^unknown field: /);
    }
    assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined);
  });

  it('refuses invalid UTF-8', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0xaf, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc3],
    ]) {
      assert.equal(refused(Buffer.from(bytes)), 'body is not valid UTF-8');
    }
  });

  it('finds a duplicate among as many members as there may be', () => {
    const members = Array.from({ length: MAX_PARTS / 2 - 1 }, (_, index) => `"k${index}":0`).join(',');
    assert.equal(refused(`{${members},"k0":0}`), 'body has a duplicate field');
  });
});
