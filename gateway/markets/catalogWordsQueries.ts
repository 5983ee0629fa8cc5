/**
 * The words of a search (RULES.md 12.4) as a full-text query. Client input never becomes query syntax: words consist of
 * letters and digits, are folded, and each is quoted; everything else only separates words.
 */
import Database from 'better-sqlite3';
import { foldText } from '../../shared/base/folding.ts';
import { searchTable } from '../../shared/tables/table.ts';

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Shorter words are prefixes of so many others that finding them would take long... */
const PREFIX_CHARACTERS = 3;
/** ...except in scripts that put no spaces between words. */
const UNSPACED = /[\u{2e80}-\u{3ffff}]/u;
/** Each word costs a scan over all rows that contain it. This many words identify a market. */
const MAX_WORDS = 8;

let tokenizer: Tokenizer | null = null;

/**
 * The words of a search in the form of the index, without repetitions and without words that are a prefix of another
 * one: they add nothing. Of more than eight, the longest are used, because fewest markets contain them.
 */
export function searchWords(search: string): readonly string[] {
  tokenizer ??= new Tokenizer();
  const all = tokenizer.words(foldText(search).match(WORD)?.join(' ') ?? '');
  const wanted = all.filter((word) => !isPrefix(word) || !all.some((one) => one !== word && one.startsWith(word)));
  return wanted.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS);
}

/** Every word must occur, in any order. */
export function toSearchQuery(words: readonly string[]): string {
  return words.map((word) => (isPrefix(word) ? `"${word}"*` : `"${word}"`)).join(' ');
}

/** The range of words in the index that this word finds. */
export function wordRange(word: string): { readonly first: string; readonly last: string } {
  return { first: word, last: isPrefix(word) ? `${word}\u{10ffff}` : word };
}

function isPrefix(word: string): boolean {
  return [...word].length >= PREFIX_CHARACTERS || UNSPACED.test(word);
}

/** Splits a text into words as the indexes do, with the same code: case and accents are handled by SQLite. */
class Tokenizer {
  readonly words: (text: string) => string[];

  constructor() {
    const db = new Database(':memory:');
    db.exec(`${searchTable('typed', ['text']).schema}
      CREATE VIRTUAL TABLE typed_words USING fts5vocab('typed', 'row')`);
    const add = db.prepare<[string]>('INSERT INTO typed (rowid, text) VALUES (1, ?)');
    const read = db.prepare<[], string>('SELECT term FROM typed_words').pluck();
    const forget = db.prepare('DELETE FROM typed WHERE rowid = 1');
    this.words = db.transaction((text: string) => {
      add.run(text);
      const words = read.all();
      forget.run();
      return words;
    });
  }
}
