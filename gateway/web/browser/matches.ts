/**
 * Which words of a text a search has found, by the rules of the exchange (RULES.md 12.4): folded, and from three
 * characters on a word also finds longer ones.
 */
import { foldText } from '../../../shared/base/folding.ts';

const PREFIX_CHARACTERS = 3;
/** An apostrophe or a grouped thousand does not end a word. */
const WORD = /[\p{L}\p{N}\p{M}]+(?:[.,'’][\p{L}\p{N}\p{M}]+)*/gu;

type Piece = { readonly text: string; readonly isMatch: boolean };

export function searchWords(search: string): readonly string[] {
  return foldText(search).match(WORD) ?? [];
}

/** The text in pieces, one after the other; those that match are whole words. */
export function piecesOf(text: string, words: readonly string[]): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  const add = (to: number, isMatch: boolean): void => {
    if (to > end) pieces.push({ text: text.slice(end, to), isMatch });
    end = to;
  };
  for (const found of text.matchAll(WORD)) {
    const folded = foldText(found[0]);
    if (!words.some((word) => isFoundBy(folded, word))) continue;
    add(found.index, false);
    add(found.index + found[0].length, true);
  }
  add(text.length, false);
  return pieces;
}

/** True if the text has one of the words. */
export function hasMatch(text: string, words: readonly string[]): boolean {
  return piecesOf(text, words).some(({ isMatch }) => isMatch);
}

function isFoundBy(folded: string, word: string): boolean {
  return folded === word || (word.length >= PREFIX_CHARACTERS && folded.startsWith(word));
}
