/**
 * Binary records, each declared once. A declaration names the fields of a record in order. What a program needs to know
 * of the record follows from it: the offset of every field, the length, a decoder, and the drawing in RECORDS.md.
 *
 *   const MARK = record('MARK', { magic: u32(), shard: u32(), sequence: safe('the last durable row') });
 *   writeSafe(words, word + MARK.sequence, 7);       offsets are plain numbers: MARK.sequence is 2
 *   decode(MARK, words, word).sequence               a plain object with the same names, for tools and tests
 *
 * Offsets and lengths count words of four bytes. A number of 64 bits is a low word and a high word (record.ts). Bytes
 * and texts fill whole words, with zeros after their end.
 *
 * A record is a frozen object of numbers, so machine code has each offset as a constant (engine/output/emit.ts says
 * what that takes). Decoding allocates; hot code reads the words.
 */
import { assert } from '../base/assert.ts';

const TWO_32 = 4_294_967_296;
const WORD_BYTES = 4;
/** Two cache lines of 64 bytes, because processors fetch lines in pairs. */
const LINE_BYTES = 128;

type Field<Value = unknown> = {
  /** The form of the value, for the drawing. */
  readonly form: string;
  readonly bytes: number;
  readonly note: string;
  readonly read: (view: DataView, at: number) => Value;
  /** The version from which on records have it (ages.ts); 1 where nothing is said. */
  readonly since?: number;
  /** The value of its first word in records that are older. */
  readonly absent?: number;
};
type Alias<Name extends string, Value> = Field<Value> & { readonly over: Name };
type Fields = Readonly<Record<string, Field>>;

type Declaration<F extends Fields> = {
  readonly name: string;
  /** The meaning of the record, for the drawing. */
  readonly note: string;
  readonly fields: F;
  /** Bytes that an offset counts: 4, or 1 in a record of bytes. */
  readonly unit: number;
  /** The version from which on the record exists. */
  readonly since: number;
  /** The fields that a decoder reads: unused words and renamed fields are left out. */
  readonly decoded: readonly { readonly name: string; readonly at: number; readonly read: Field['read'] }[];
};

/** The facts about a record. */
type Facts<F extends Fields, Type extends number = number> = {
  /** The permanent number of the record's type in its family; 0 outside of one. */
  readonly TYPE: Type;
  readonly WORDS: number;
  readonly BYTES: number;
  readonly DECLARATION: Declaration<F>;
};
/** Offsets by the names of the fields, and the facts in capitals. */
type Layout<F extends Fields, Type extends number = number> = { readonly [Name in keyof F]: number } & Facts<F, Type>;
/** Any record, for code that needs no offsets. */
export type AnyLayout = Facts<Fields>;

type NamesOver<F> = { [Name in keyof F]: F[Name] extends { readonly over: infer Over } ? Over : never }[keyof F];
type ValueOf<F> = F extends Field<infer Value> ? Value : never;
/** A record as a plain object. Unused words are left out, and a field with another name here has that one only. */
type Decoded<F> = {
  readonly [Name in keyof F as ValueOf<F[Name]> extends undefined ? never : Exclude<Name, NamesOver<F>>]: ValueOf<
    F[Name]
  >;
};
export type DecodedOf<L> = L extends { readonly DECLARATION: Declaration<infer F> } ? Decoded<F> : never;

/** An integer of 32 bits without a sign. */
export function u32(note = ''): Field<number> {
  return { form: 'u32', bytes: WORD_BYTES, note, read: readWord };
}

/** A safe integer of 0 and more. */
export function safe(note = ''): Field<number> {
  return { form: 'safe', bytes: 8, note, read: (view, at) => readWord(view, at + 4) * TWO_32 + readWord(view, at) };
}

/** A safe integer of either sign, in two's complement. */
export function signed(note = ''): Field<number> {
  const read = (view: DataView, at: number): number => view.getInt32(at + 4, true) * TWO_32 + readWord(view, at);
  return { form: 'signed', bytes: 8, note, read };
}

/** A number of uninterpreted bytes. */
export function bytes(count: number, note = ''): Field<Uint8Array> {
  return { form: `${count} bytes`, bytes: count, note, read: (view, at) => bytesAt(view, at, count).slice() };
}

/** Printable ASCII of at most `count` characters, with zeros after its end. */
export function text(count: number, note = ''): Field<string> {
  const read = (view: DataView, at: number): string => {
    const characters = bytesAt(view, at, count);
    const end = characters.indexOf(0);
    return String.fromCharCode(...(end < 0 ? characters : characters.subarray(0, end)));
  };
  return { form: `text of ${count}`, bytes: count, note, read };
}

/** A word with up to four fields of one byte each, the first in the lowest byte. */
export function octets<const Names extends readonly string[]>(
  names: Names,
  note = '',
): Field<{ readonly [Name in Names[number]]: number }> {
  assert(names.length <= WORD_BYTES, 'layout: a word has four bytes');
  const read = (view: DataView, at: number) =>
    Object.fromEntries(names.map((name, index) => [name, view.getUint8(at + index)]));
  return { form: names.join(' | '), bytes: WORD_BYTES, note, read: read as never };
}

/** A word with memory lines of its own: one thread writes it while others read its neighbours. */
export function line(note = ''): Field<number> {
  return { form: 'u32 on a line of its own', bytes: LINE_BYTES, note, read: readWord };
}

/** Unused words; writers leave them zero. */
export function unused(words: number): Field<undefined> {
  return { form: 'unused', bytes: words * WORD_BYTES, note: '', read: () => undefined };
}

/** Another name for the words of an earlier field, whose meaning differs in this record. */
export function alias<const Name extends string, Value>(over: Name, field: Field<Value>): Alias<Name, Value> {
  return { ...field, over };
}

/**
 * A field that came to a record later. A record of an older version is read as if the field had its value of absence
 * there, and is written to older readers only with that value (ages.ts).
 */
export function since<Value>(version: number, field: Field<Value>, absent = 0): Field<Value> {
  return { ...field, since: version, absent };
}

export function record<const F extends Fields, const Type extends number = 0>(
  name: string,
  fields: F,
  note = '',
  type: Type = 0 as Type,
  firstVersion = 1,
): Layout<F, Type> {
  return layOut(name, fields, note, type, WORD_BYTES, firstVersion);
}

/** A record as it was before it got fields. */
export function firstForm<F extends Fields, Type extends number>({ TYPE, DECLARATION }: Facts<F, Type>) {
  const fields = { ...DECLARATION.fields };
  for (const [name, { since }] of Object.entries(fields)) if (since !== undefined) Reflect.deleteProperty(fields, name);
  return record(DECLARATION.name, fields, DECLARATION.note, TYPE);
}

/** A record whose offsets count bytes, and whose fields follow each other without a gap. */
export function byteRecord<const F extends Fields>(name: string, fields: F, note = ''): Layout<F> {
  return layOut(name, fields, note, 0, 1, 1);
}

function layOut<F extends Fields, Type extends number>(
  name: string,
  fields: F,
  note: string,
  type: Type,
  unit: number,
  firstVersion: number,
): Layout<F, Type> {
  const offsets: Record<string, number> = {};
  let end = 0;
  for (const [field, { bytes, over }] of Object.entries<Field & { over?: string }>(fields)) {
    assert(/^[a-z]\w*$/.test(field), 'layout: names in capitals are facts about the record');
    if (over !== undefined) {
      assert(offsets[over] !== undefined, 'layout: an alias is of an earlier field');
      assert(fields[over].bytes === bytes, 'layout: an alias is as long as its field');
      offsets[field] = offsets[over];
      continue;
    }
    offsets[field] = end;
    end += Math.ceil(bytes / unit);
  }
  const length = end * unit;
  assert(length % WORD_BYTES === 0, 'layout: a record is made of whole words');
  const facts = {
    TYPE: type,
    WORDS: length / WORD_BYTES,
    BYTES: length,
    DECLARATION: { name, note, fields, unit, since: firstVersion, decoded: decodedFields(fields, offsets, unit) },
  };
  return Object.freeze({ ...offsets, ...facts }) as Layout<F, Type>;
}

type Member<F extends Fields, Type extends number> = {
  readonly type: Type;
  readonly note: string;
  readonly fields: F;
  readonly since: number;
};

/**
 * One record of a family, after the header that all of them share.
 * @param firstVersion from which on it exists
 */
export function member<const F extends Fields, const Type extends number>(
  type: Type,
  note: string,
  fields: F = {} as F,
  firstVersion = 1,
): Member<F, Type> {
  return { type, note, fields, since: firstVersion };
}

type Family<H extends Fields, Members> = {
  readonly [Name in keyof Members]: Members[Name] extends Member<infer F, infer Type> ? Layout<H & F, Type> : never;
};

/**
 * Records of one ring or file, distinguished by their type: all start with the same header, their lengths are multiples
 * of 8 bytes, and their types are numbered from 1 without a gap.
 */
export function family<const H extends Fields, const Members extends Record<string, Member<Fields, number>>>(
  header: H,
  members: Members,
): Family<H, Members> {
  const layouts = Object.entries(members).map(([name, { type, note, fields, since }]) => {
    const layout = record(name, { ...header, ...fields }, note, type, since);
    assert(layout.BYTES % 8 === 0, 'layout: the length of a record in a family is a multiple of 8');
    return [name, layout] as const;
  });
  const types = layouts.map(([, { TYPE }]) => TYPE).sort((a, b) => a - b);
  assert(
    types.every((type, index) => type === index + 1),
    'layout: the types of a family are 1, 2, 3 …',
  );
  return Object.freeze(Object.fromEntries(layouts)) as Family<H, Members>;
}

/** Length in bytes by type. Index 0 is no type. */
export function lengthsByType(layouts: Readonly<Record<string, AnyLayout>>): readonly number[] {
  const lengths = new Array<number>(Object.keys(layouts).length + 1).fill(0);
  for (const { TYPE, BYTES } of Object.values(layouts)) lengths[TYPE] = BYTES;
  return lengths;
}

/** The record at `word` as a plain object. */
export function decode<F extends Fields>(layout: Facts<F>, words: Uint32Array, word = 0): Decoded<F> {
  const view = new DataView(words.buffer, words.byteOffset + word * WORD_BYTES, layout.BYTES);
  const values: Record<string, unknown> = {};
  for (const { name, at, read } of layout.DECLARATION.decoded) values[name] = read(view, at);
  return values as Decoded<F>;
}

function decodedFields(fields: Fields, offsets: Record<string, number>, unit: number) {
  const all = Object.entries<Field & { over?: string }>(fields);
  const renamed = new Set(all.map(([, { over }]) => over));
  return all
    .filter(([name, { form }]) => form !== 'unused' && !renamed.has(name))
    .map(([name, { read }]) => ({ name, at: offsets[name] * unit, read }));
}

function readWord(view: DataView, at: number): number {
  return view.getUint32(at, true);
}

function bytesAt(view: DataView, at: number, count: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + at, count);
}
