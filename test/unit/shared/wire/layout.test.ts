import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeEvent, EVENT, EVENT_VERSION } from '../../../../shared/wire/events.ts';
import {
  alias,
  bytes,
  decode,
  family,
  lengthsByType,
  line,
  member,
  octets,
  record,
  safe,
  signed,
  text,
  u32,
  unused,
} from '../../../../shared/wire/layout.ts';
import { RecordBuffer, writeSafe, writeSigned } from '../../../../shared/wire/record.ts';

const ALL = record('ALL', {
  length: u32(),
  owner: u32(),
  account: alias('owner', u32()),
  kind: octets(['side', 'outcome']),
  amount: safe(),
  net: signed(),
  signer: bytes(5),
  gap: unused(1),
  name: text(6),
});

describe('a declaration', () => {
  it('gives each field the word behind the one before it', () => {
    const { length, owner, account, kind, amount, net, signer, gap, name } = ALL;
    assert.deepEqual([length, owner, account, kind, amount, net, signer, gap, name], [0, 1, 1, 2, 3, 5, 7, 9, 10]);
    assert.deepEqual([ALL.WORDS, ALL.BYTES], [12, 48]);
  });

  it('gives a field that one thread writes two cache lines of its own', () => {
    const { first, second, WORDS } = record('LINES', { first: line(), second: line() });
    assert.deepEqual([first, second, WORDS], [0, 32, 64]);
  });

  it('is refused when an alias has no field, or when a name would hide a fact', () => {
    assert.throws(() => record('X', { b: alias('a', u32()) }), /alias/);
    assert.throws(() => record('X', { a: u32(), b: alias('a', safe()) }), /alias/);
    assert.throws(() => record('X', { WORDS: u32() }), /capitals/);
  });
});

describe('a family', () => {
  const header = { length: u32(), type: u32() };

  it('puts its header in front of every record and knows the lengths by type', () => {
    const shapes = family(header, { DOT: member(2, '', { x: u32(), y: u32() }), NOTHING: member(1, '') });
    assert.deepEqual([shapes.DOT.x, shapes.DOT.TYPE, shapes.NOTHING.TYPE], [2, 2, 1]);
    assert.deepEqual(lengthsByType(shapes), [0, 8, 16]);
  });

  it('refuses a length that would misplace the next record, and a type that is missing', () => {
    assert.throws(() => family(header, { DOT: member(1, '', { x: u32() }) }), /multiple of 8/);
    assert.throws(() => family(header, { DOT: member(2, '') }), /1, 2, 3/);
  });
});

describe('decoding', () => {
  it('gives the fields by name, without unused words, and a renamed field once', () => {
    const words = new Uint32Array(1 + ALL.WORDS);
    const memory = new Uint8Array(words.buffer, 4);
    words[1 + ALL.owner] = 7;
    words[1 + ALL.kind] = 1 | (2 << 8);
    writeSafe(words, 1 + ALL.amount, Number.MAX_SAFE_INTEGER);
    writeSigned(words, 1 + ALL.net, -5);
    memory.set([1, 2, 3, 4, 5], ALL.signer * 4);
    memory.set(Buffer.from('abc'), ALL.name * 4);
    assert.deepEqual(decode(ALL, words, 1), {
      length: 0,
      account: 7,
      kind: { side: 1, outcome: 2 },
      amount: Number.MAX_SAFE_INTEGER,
      net: -5,
      signer: new Uint8Array([1, 2, 3, 4, 5]),
      name: 'abc',
    });
    // Its two words differ, and so do the bytes of each.
    const net = -(2 ** 40) - 5;
    writeSigned(words, 1 + ALL.net, net);
    memory.fill(0, ALL.name * 4, ALL.name * 4 + 3);
    const { net: read, name } = decode(ALL, words, 1);
    assert.deepEqual([read, name], [net, '']);
  });

  it('names the event, and refuses an event of another version or length', () => {
    const { words, append } = ((out) => ({ words: out.words, append: out.append.bind(out) }))(new RecordBuffer(256));
    append(EVENT.REST.BYTES, EVENT.REST.TYPE | (EVENT_VERSION << 16));
    writeSafe(words, EVENT.REST.remainingLots, 3);
    const event = decodeEvent(words, 0);
    assert.deepEqual([event.name, event.name === 'REST' && event.remainingLots], ['REST', 3]);
    const later = append(EVENT.REST.BYTES, EVENT.REST.TYPE | ((EVENT_VERSION + 1) << 16));
    assert.throws(() => decodeEvent(words, later), /EVENT-1/);
    const short = append(EVENT.REST.BYTES - 8, EVENT.REST.TYPE | (EVENT_VERSION << 16));
    assert.throws(() => decodeEvent(words, short), /EVENT-2/);
  });
});
