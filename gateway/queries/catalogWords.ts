/**
 * The words of a search (RULES.md 12.4) as a full-text query. What a client types never becomes syntax of the query:
 * words are letters and digits, each in quotes, and everything else only separates them.
 */

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Shorter words begin so many others that finding them would take long... */
const PREFIX_CHARACTERS = 3;
/** ...except in scripts that put no spaces between words. */
const UNSPACED = /[\u{2e80}-\u{3ffff}]/u;

/** Every word has to be there, in any order. Null without a word: such a search finds nothing. */
export function toSearchQuery(search: string): string | null {
  const words = search.match(WORD);
  if (words === null) return null;
  return words.map((word) => (isPrefix(word) ? `"${word}"*` : `"${word}"`)).join(' ');
}

function isPrefix(word: string): boolean {
  return [...word].length >= PREFIX_CHARACTERS || UNSPACED.test(word);
}
