/**
 * Commands and events of every age. A journal keeps them for ever, so a field or a type that is added says since which
 * version it exists (layout.ts), and the version in a record's own header says what the record has. In memory every
 * record is in the newest layout: rows are widened when they are read, and narrowed when they are written before the
 * shard uses the version of today (engine/core/rules.ts).
 *
 *   a row of version 5   ──widen──►  the record of today, young fields with their values of absence
 *   a row for version 5  ◄─narrow──  the record of today, whose young fields have those values
 *
 * Versions are the numbers of the format `engine` (shared/base/formats.ts). Those before 5 had all fields at the same
 * places, and have the number 1 in their records.
 *
 * Invariants:
 *   AGES-1  A field is never removed, moved or given another length, and a version never changes once it was released.
 *   AGES-2  What is narrowed and widened again is the same: a young field of a record that is written for an older
 *           version has its value of absence.
 *   AGES-3  A record of a version that this program does not know is refused in words, before anything of it is used.
 */
import { assert } from '../base/assert.ts';
import { COMMAND, EXTENDED_PLACE, KEYED_CANCEL, KEYED_CONVERT } from './commands.ts';
import { EVENT } from './events.ts';
import type { AnyLayout } from './layout.ts';
import type { RecordBuffer } from './record.ts';
import { FIRST_VERSION, RECORD_VERSIONS } from './version.ts';

/** The word after the length, in every command and event: type | version << 16. */
const TYPE_WORD = 1;

/** The way from the layout of one version to the newest one. */
type Plan = {
  /** In the older version. */
  readonly words: number;
  readonly newestWords: number;
  /** Words that both have: from where in the older one, to where in the newest, how many. */
  readonly shared: readonly { readonly from: number; readonly to: number; readonly count: number }[];
  /** The others of the newest one, and what they are without the field. */
  readonly young: readonly { readonly at: number; readonly absent: number }[];
};

type Forms = readonly AnyLayout[];
type Versions = readonly number[];

/** A record that a later version of this program wrote, and that this one must not guess at. */
export class NewerRecordError extends Error {
  override readonly name = 'NewerRecordError';
}

/** The versions of the records of one family. */
export class Ages {
  readonly #newest: number;
  /** By version, then by type and length in that version. */
  readonly #older = new Map<number, ReadonlyMap<number, Plan>>();
  /** By version, then by type and length in the newest version. */
  readonly #newer = new Map<number, ReadonlyMap<number, Plan>>();

  /** @param forms every layout of the family, the long forms of a type among them */
  constructor(forms: Forms, versions: Versions) {
    this.#newest = Math.max(...versions);
    for (const version of versions) {
      const plans = forms
        .filter(({ DECLARATION }) => DECLARATION.since <= version)
        .map((form) => [form.TYPE, planOf(form, version)] as const);
      this.#older.set(version, byForm(plans.map(([type, plan]) => [keyOf(type, plan.words), plan])));
      this.#newer.set(version, byForm(plans.map(([type, plan]) => [keyOf(type, plan.newestWords), plan])));
    }
  }

  /** Appends the records of a version, in the newest layout. @param end the word after the last one */
  widen(version: number, words: Uint32Array, word: number, end: number, into: RecordBuffer): void {
    const plans = this.#older.get(version);
    if (plans === undefined) throw new NewerRecordError(unknown(version, this.#newest));
    for (let at = word; at < end; at += words[at] >>> 2) {
      const type = words[at + TYPE_WORD] & 0xffff;
      const plan = plans.get(keyOf(type, words[at] >>> 2));
      assert(plan !== undefined, 'AGES-3: a version has this type, with this length');
      const start = into.append(plan.newestWords * 4, 0);
      for (const { from, to, count } of plan.shared) {
        for (let i = 0; i < count; i++) into.words[start + to + i] = words[at + from + i];
      }
      for (const { at: word, absent } of plan.young) into.words[start + word] = absent;
      into.words[start] = plan.newestWords * 4;
      into.words[start + TYPE_WORD] = type | (this.#newest << 16);
    }
  }

  /** Gives the fields that a version does not have their values of absence, in a record that its writer just made. */
  forget(version: number, words: Uint32Array, word: number): void {
    const plan = this.#newer.get(version)?.get(keyOf(words[word + TYPE_WORD] & 0xffff, words[word] >>> 2));
    assert(plan !== undefined, 'AGES-2: a type is not written for versions without it');
    for (const { at, absent } of plan.young) words[word + at] = absent;
  }

  /** Appends records of the newest layout as those of an older version (AGES-2). */
  narrow(version: number, words: Uint32Array, word: number, end: number, into: RecordBuffer): void {
    const plans = this.#newer.get(version);
    assert(plans !== undefined, 'AGES-3: a version is written that this program knows');
    for (let at = word; at < end; at += words[at] >>> 2) {
      const type = words[at + TYPE_WORD] & 0xffff;
      const plan = plans.get(keyOf(type, words[at] >>> 2));
      assert(plan !== undefined, 'AGES-2: a type is not written for versions without it');
      for (const { at: young, absent } of plan.young) {
        assert(words[at + young] === absent, 'AGES-2: a field is not used before its version is');
      }
      const start = into.append(plan.words * 4, 0);
      for (const { from, to, count } of plan.shared) {
        for (let i = 0; i < count; i++) into.words[start + from + i] = words[at + to + i];
      }
      into.words[start] = plan.words * 4;
      into.words[start + TYPE_WORD] = type | (version << 16);
    }
  }
}

/** The version in the header of a command or event. */
export function versionOf(words: Uint32Array, word: number): number {
  return words[word + TYPE_WORD] >>> 16;
}

/** The words that a record does not have in a version, with their values there. */
export function youngOf(layout: AnyLayout, version: number): Plan['young'] {
  return planOf(layout, version).young;
}

function planOf({ DECLARATION: { name, fields, unit } }: AnyLayout, version: number): Plan {
  assert(unit === 4, 'ages: commands and events are made of words');
  const shared: { from: number; to: number; count: number }[] = [];
  const young: { at: number; absent: number }[] = [];
  let [from, to] = [0, 0];
  for (const declared of Object.values(fields)) {
    if ('over' in declared) continue;
    const count = Math.ceil(declared.bytes / 4);
    if ((declared.since ?? FIRST_VERSION) <= version) {
      shared.push({ from, to, count });
      from += count;
    } else {
      const values = [declared.absent ?? 0, ...new Array<number>(count - 1).fill(0)];
      young.push(...values.map((absent, index) => ({ at: to + index, absent })));
    }
    to += count;
  }
  assert(from % 2 === 0, `ages: the length of ${name} is a multiple of 8 bytes in every version`);
  return { words: from, newestWords: to, shared: joined(shared), young };
}

/** Neighbours in both are one run. */
function joined(runs: readonly { from: number; to: number; count: number }[]) {
  const all: { from: number; to: number; count: number }[] = [];
  for (const run of runs) {
    const last = all.at(-1);
    const isNext = last !== undefined && last.from + last.count === run.from && last.to + last.count === run.to;
    if (isNext) last.count += run.count;
    else all.push({ ...run });
  }
  return all;
}

function byForm(plans: readonly (readonly [number, Plan])[]): ReadonlyMap<number, Plan> {
  const map = new Map(plans);
  assert(map.size === plans.length, 'ages: the forms of a type have different lengths in every version');
  return map;
}

function keyOf(type: number, words: number): number {
  return type * 0x1_0000 + words;
}

function unknown(version: number, newest: number): string {
  return version > newest
    ? `records of version ${version}, and this program reads ${newest} at most: it is older than what wrote them`
    : `records of version ${version}, which no program wrote`;
}

export const COMMAND_AGES = new Ages(
  [...Object.values(COMMAND), EXTENDED_PLACE, KEYED_CANCEL, KEYED_CONVERT],
  RECORD_VERSIONS,
);
export const EVENT_AGES = new Ages(Object.values(EVENT), RECORD_VERSIONS);
