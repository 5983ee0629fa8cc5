/**
 * Folds text to the letters that people type on a plain keyboard: without accents, in lower case, with Latin letters
 * that Unicode does not decompose replaced by one or two plain ones. Path names and both sides of a search are folded
 * (RULES.md 9.41, 12.4).
 */
const LETTERS: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ŧ: 't',
  ŋ: 'n',
  ı: 'i',
  ĸ: 'k',
  ſ: 's',
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ə: 'e',
  ς: 'σ',
};
const FOLDED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');
/** Marks of scripts that are read without them. Those of others, as of Hindi, are letters: they stay. */
const MARKS = [
  ...['\\u0300-\\u036f', '\\u1ab0-\\u1aff', '\\u1dc0-\\u1dff', '\\u20d0-\\u20ff', '\\ufe20-\\ufe2f'],
  ...['\\u0591-\\u05bd', '\\u05bf', '\\u05c1-\\u05c2', '\\u05c4-\\u05c5', '\\u05c7'],
  ...['\\u064b-\\u0652', '\\u0670'],
];
const ACCENTS = new RegExp(`[${MARKS.join('')}]+`, 'gu');
/** Invisible characters: soft hyphens, joiners and separators of letters. */
const UNSEEN = /[\u00ad\u200b-\u200d\u2060\ufeff]/gu;
/** Between digits they group thousands, and between letters they end no word. */
const GROUPING = /(?<=\d)[,'\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))/gu;
const APOSTROPHE = /(?<=\p{L})['\u2019\u02bc](?=\p{L})/gu;
const INITIALS = /(?<!\p{L})\p{L}(?:\.\p{L})+\.?(?!\p{L})/gu;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** "São Paulo, Łódź, Straße" is "sao paulo, lodz, strasse", and "U.S., Trump's 100,000" is "us, trumps 100000". */
export function foldText(text: string): string {
  return foldLetters(joined(text));
}

/**
 * A text as a search finds it: folded, and behind it the parts of the words that folding has put together, so that
 * "O'Neill" is found as it is, by "oneill" and by "neill".
 */
export function foldToSearch(text: string): string {
  const whole = joined(text);
  const folded = foldLetters(whole);
  if (whole === text) return folded;
  const words = new Set(folded.match(WORD));
  const parts = new Set(
    foldLetters(text)
      .match(WORD)
      ?.filter((word) => !words.has(word)),
  );
  return parts.size === 0 ? folded : `${folded} ${[...parts].join(' ')}`;
}

function foldLetters(text: string): string {
  return text
    .replace(UNSEEN, '')
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .toLowerCase()
    .replace(FOLDED, (letter) => LETTERS[letter])
    .normalize('NFC');
}

function joined(text: string): string {
  return text
    .replace(INITIALS, (initials) => initials.replaceAll('.', ''))
    .replace(APOSTROPHE, '')
    .replace(GROUPING, '');
}
