import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_DEPTH, parseStrictJson } from '../../../../gateway/http/body.ts';

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

  it('lets different objects use the same name', () => {
    assert.deepEqual(accepted('[{"a":1},{"a":2},{"b":{"a":3}}]'), [{ a: 1 }, { a: 2 }, { b: { a: 3 } }]);
  });

  it('counts members of integer names too', () => {
    assert.deepEqual(accepted('{"2":0,"1":0}'), { 1: 0, 2: 0 });
    assert.equal(refused('{"1":0,"1":0}'), 'body has a duplicate field');
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

  it('stays linear on an object of many members', () => {
    const members = Array.from({ length: 8000 }, (_, index) => `"k${index}":0`).join(',');
    assert.equal(Object.keys(accepted(`{${members}}`) as object).length, 8000);
    assert.equal(refused(`{${members},"k0":0}`), 'body has a duplicate field');
  });
});
