/**
 * Letters as people type them who have none of the others on their keyboard: without accents, in lower case, and the
 * letters of the Latin script that Unicode does not take apart as two plain ones at most.
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
};
const FOLDED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');
const ACCENTS = /\p{M}+/gu;
/** Between digits they group thousands; before an s, or between single letters, they are no end of a word. */
const GROUPING = /(?<=\d),(?=\d{3}(?!\d))/gu;
const POSSESSIVE = /(?<=\p{L})['’](?=s(?!\p{L}))/gu;
const INITIALS = /(?<!\p{L})(?:\p{L}\.){2,}/gu;

/** "São Paulo, Łódź, Straße" is "sao paulo, lodz, strasse", and "U.S., Trump's 100,000" is "us, trumps 100000". */
export function foldText(text: string): string {
  return text
    .replace(INITIALS, (initials) => initials.replaceAll('.', ''))
    .toLowerCase()
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .replace(FOLDED, (letter) => LETTERS[letter]!)
    .replace(POSSESSIVE, '')
    .replace(GROUPING, '');
}
