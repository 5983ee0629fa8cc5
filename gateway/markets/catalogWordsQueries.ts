/**
 * The words of a search (RULES.md 12.4) as a full-text query. What a client types never becomes syntax of the query:
 * words are letters and digits, folded, each in quotes, and everything else only separates them.
 */
import Database from 'better-sqlite3';
import { foldText } from '../../shared/base/folding.ts';
import { searchTable } from '../../shared/tables/table.ts';

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Shorter words begin so many others that finding them would take long... */
const PREFIX_CHARACTERS = 3;
/** ...except in scripts that put no spaces between words. */
const UNSPACED = /[\u{2e80}-\u{3ffff}]/u;
/** Each word costs a walk over all rows that have it. So many words identify a market. */
const MAX_WORDS = 8;

let tokenizer: Tokenizer | null = null;

/**
 * The words that a search has to find, as the index has them, without repetitions and without words that begin another
 * one: they add nothing. Of more than eight the longest count, which the fewest markets have.
 */
export function searchWords(search: string): readonly string[] {
  tokenizer ??= new Tokenizer();
  const all = tokenizer.words(foldText(search).match(WORD)?.join(' ') ?? '');
  const wanted = all.filter((word) => !isPrefix(word) || !all.some((one) => one !== word && one.startsWith(word)));
  return wanted.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS);
}

/** Every word has to be there, in any order. */
export function toSearchQuery(words: readonly string[]): string {
  return words.map((word) => (isPrefix(word) ? `"${word}"*` : `"${word}"`)).join(' ');
}

/** The words of an index that this one finds are these, and all between them. */
export function wordRange(word: string): { readonly first: string; readonly last: string } {
  return { first: word, last: isPrefix(word) ? `${word}\u{10ffff}` : word };
}

function isPrefix(word: string): boolean {
  return [...word].length >= PREFIX_CHARACTERS || UNSPACED.test(word);
}

/** Makes words of a text as the indexes do, with the same code: their case and accents are those of SQLite. */
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
