/** Records of every version are read, and written, as the program of today has them (shared/wire/ages.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ages, COMMAND_AGES, EVENT_AGES, NewerRecordError, versionOf, youngOf } from '../../../../shared/wire/ages.ts';
import { COMMAND, EXTENDED_PLACE } from '../../../../shared/wire/commands.ts';
import { ENTRY } from '../../../../shared/wire/entry.ts';
import { EVENT } from '../../../../shared/wire/events.ts';
import {
  type AnyLayout,
  bytes,
  decode,
  family,
  firstForm,
  member,
  record,
  safe,
  since,
  u32,
} from '../../../../shared/wire/layout.ts';
import { RecordBuffer } from '../../../../shared/wire/record.ts';
import { FIRST_VERSION, RECORD_VERSION, RECORD_VERSIONS } from '../../../../shared/wire/version.ts';
import { Random } from '../../../support/random.ts';
import { seedOr } from '../../../support/seeds.ts';

const HEADER = { length: u32(), type: u32() };
/** A family in which version 6 adds to the middle and the end of a record, 7 to its header's neighbour, 8 a type. */
const BY_AGE = family(HEADER, {
  ORDER: member(1, '', {
    young: since(7, safe(), 9),
    amount: safe(),
    pair: since(6, bytes(8)),
    price: u32(),
    fee: since(6, u32(), 25),
    old: u32(),
    last: since(6, u32(), 1),
  }),
  TICK: member(2, ''),
  NEW: member(3, '', { value: safe() }, 8),
});
const LONG = record('LONG', { ...BY_AGE.ORDER.DECLARATION.fields, key: bytes(16) }, '', 1);
const VERSIONS = [1, 5, 6, 7, 8];
const AGES = new Ages([...Object.values(BY_AGE), LONG], VERSIONS);
/** Words of an ORDER by version. */
const WORDS = { 1: 6, 5: 6, 6: 10, 7: 12, 8: 12 } as Record<number, number>;
const SEED = seedOr(55);

/** A record of a version, with words that are drawn. */
function drawn(random: Random, version: number): Uint32Array {
  const [type, more] = random.pick([[1, 0], [1, 4], [2, 0], ...(version >= 8 ? ([[3, 0]] as const) : [])] as const);
  const length = type === 1 ? WORDS[version]! + more : type === 2 ? 2 : 4;
  const words = Uint32Array.from({ length }, () => random.next());
  words[0] = length * 4;
  words[1] = type | (version << 16);
  return words;
}

function widened(version: number, words: Uint32Array, ages = AGES): Uint32Array {
  const into = new RecordBuffer(8);
  ages.widen(version, words, 0, words.length, into);
  return into.words.slice(0, into.lengthBytes / 4);
}

function narrowed(version: number, words: Uint32Array, ages = AGES): Uint32Array {
  const into = new RecordBuffer(8);
  ages.narrow(version, words, 0, words.length, into);
  return into.words.slice(0, into.lengthBytes / 4);
}

test(`AGES-2: what an older version wrote is the same after it was widened and narrowed (SEED=${SEED})`, () => {
  const random = new Random(SEED);
  for (let round = 0; round < 3000; round++) {
    const version = random.pick(VERSIONS);
    const records = Array.from({ length: random.between(1, 5) }, () => drawn(random, version));
    const words = Uint32Array.from(records.flatMap((each) => [...each]));
    const wide = widened(version, words);
    for (let at = 0; at < wide.length; at += wide[at]! / 4) {
      assert.equal(versionOf(wide, at), 8);
      const lengths = [BY_AGE.ORDER.BYTES, LONG.BYTES, BY_AGE.TICK.BYTES, BY_AGE.NEW.BYTES];
      assert.ok(lengths.includes(wide[at]!), 'a record has a length of today');
    }
    assert.deepEqual(narrowed(version, wide), words);
  }
});

test('a field that a record is too old for has its value of absence, and all others are their own', () => {
  const old = Uint32Array.of(24, 1 | (1 << 16), 100, 0, 61, 7);
  const fields = decode(BY_AGE.ORDER, widened(1, old));
  const { young, amount, pair, price, fee, old: kept, last } = fields;
  assert.deepEqual([young, amount, [...pair], price, fee, kept, last], [9, 100, Array(8).fill(0), 61, 25, 7, 1]);
  const six = Uint32Array.of(40, 1 | (6 << 16), 100, 0, 3, 4, 61, 30, 7, 2);
  const ofSix = decode(BY_AGE.ORDER, widened(6, six));
  assert.deepEqual([ofSix.young, ofSix.amount, ofSix.fee, ofSix.old, ofSix.last], [9, 100, 30, 7, 2]);
});

test('AGES-2: a field, and a type, are not written for a version that would lose them', () => {
  const order = widened(1, Uint32Array.of(24, 1 | (1 << 16), 100, 0, 61, 7));
  order[BY_AGE.ORDER.fee] = 26;
  assert.throws(() => narrowed(1, order), /AGES-2: a field is not used before its version is/);
  assert.equal(narrowed(6, order).length, WORDS[6]);
  assert.throws(() => narrowed(7, Uint32Array.of(16, 3 | (8 << 16), 1, 0)), /AGES-2: a type is not written/);
});

test('AGES-3: a newer version, an unknown one, and a length of no version are refused', () => {
  const tick = (version: number, length = 8): Uint32Array => Uint32Array.of(length, 2 | (version << 16), 0, 0);
  const newer = new NewerRecordError(
    'records of version 9, and this program reads 8 at most: it is older than what wrote them',
  );
  assert.throws(() => widened(9, tick(9)), newer);
  assert.throws(() => widened(3, tick(3)), new NewerRecordError('records of version 3, which no program wrote'));
  assert.throws(() => widened(6, tick(6, 16)), /AGES-3/);
  assert.throws(() => widened(7, Uint32Array.of(16, 3 | (7 << 16), 1, 0)), /AGES-3/);
});

test('commands and events of the first version are those of today, without what is younger', () => {
  assert.equal(RECORD_VERSIONS.at(-1), RECORD_VERSION);
  const counts = { first: 0, grown: 0, young: 0 };
  for (const [ages, layouts] of [
    [COMMAND_AGES, [...Object.values<AnyLayout>(COMMAND), EXTENDED_PLACE]],
    [EVENT_AGES, Object.values<AnyLayout>(EVENT)],
  ] as const) {
    for (const layout of layouts) {
      const young = youngOf(layout, FIRST_VERSION);
      const words = new Uint32Array(layout.WORDS - young.length).fill(5);
      [words[0], words[1]] = [words.length * 4, layout.TYPE | (FIRST_VERSION << 16)];
      if (layout.DECLARATION.since > FIRST_VERSION) {
        counts.young++;
        assert.throws(() => widened(FIRST_VERSION, words, ages), /AGES-3/);
        continue;
      }
      counts[young.length === 0 ? 'first' : 'grown']++;
      const wide = widened(FIRST_VERSION, words, ages);
      assert.deepEqual([wide[1], wide[0]], [layout.TYPE | (RECORD_VERSION << 16), layout.BYTES]);
      for (const { at, absent } of young) assert.equal(wide[at], absent);
      assert.deepEqual(narrowed(FIRST_VERSION, wide, ages), words);
    }
  }
  assert.deepEqual(counts, { first: 45, grown: 2, young: 6 });
  const rules = Uint32Array.of(COMMAND.RULES.BYTES, COMMAND.RULES.TYPE | (RECORD_VERSION << 16), 0, 0, 0, 0, 0, 5);
  assert.throws(() => narrowed(FIRST_VERSION, rules, COMMAND_AGES), /AGES-2/);
  assert.equal(EVENT.READY.DECLARATION.since, 1);
});

test('ENTRY-1: a protocol keeps the fields that a record began with, whatever it got since', () => {
  for (const layout of [BY_AGE.ORDER, LONG]) {
    const first = firstForm(layout);
    const names = Object.keys(layout.DECLARATION.fields).filter(
      (name) => !['young', 'pair', 'fee', 'last'].includes(name),
    );
    assert.deepEqual(Object.keys(first.DECLARATION.fields), names);
    assert.deepEqual([first.amount, first.price, first.old, first.TYPE], [2, 4, 5, 1]);
    assert.equal(first.WORDS, WORDS[FIRST_VERSION]! + (layout === LONG ? 4 : 0));
  }
  for (const name of ['PLACE', 'EXTENDED_PLACE', 'REPLACE', 'CANCEL', 'CANCEL_MANY'] as const) {
    const young = Object.values(ENTRY[name].DECLARATION.fields).filter((field) => 'since' in field);
    assert.deepEqual(young, [], name);
  }
});
