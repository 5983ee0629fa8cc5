/** Finds entries of the documents by words. docsBuild.ts adds the entries themselves to this file. */
export type Entry = {
  readonly kind: string;
  readonly title: string;
  /** The title of the entry's page. */
  readonly page: string;
  readonly href: string;
  readonly text: string;
};

export type Found = { readonly entry: Entry; readonly excerpt: string };

const MOST_FOUND = 30;
/** A word in the title says more than one in the text. */
const TITLE_WEIGHT = 3;
const WHOLE_TITLE_WEIGHT = 8;
/** Rules rank above guides: rules decide, guides explain. */
const KIND_WEIGHTS: Readonly<Record<string, number>> = {
  Rule: 1.2,
  Schema: 0.6,
  Record: 0.5,
  Message: 0.8,
  Route: 0.8,
};
const EXCERPT_BEFORE = 60;
const EXCERPT_LENGTH = 200;

/** An entry in lower case. */
type Read = { readonly entry: Entry; readonly title: string; readonly text: string };

/** The search over these entries. A word finds words that begin with it; rare words count for more than common ones. */
export function searchOver(entries: readonly Entry[]): (query: string) => Found[] {
  const read = entries.map((entry) => ({ entry, title: folded(entry.title), text: folded(entry.text) }));
  const averageLength = read.reduce((sum, { text }) => sum + text.length, 0) / Math.max(1, read.length);
  return (query) => {
    const words = wordsOf(query);
    if (words.length === 0) return [];
    const patterns = words.map((word) => new RegExp(`(?<![a-z0-9])${escapedPattern(word)}`));
    const hits = patterns.map((pattern) => read.map((each) => weightOf(each, pattern, averageLength)));
    const rarities = hits.map((list) => Math.log(1 + read.length / (1 + list.filter((hit) => hit > 0).length)));
    const whole = words.join(' ');
    const scored = read.map((each, index) => {
      const sum = hits.reduce((total, list, word) => total + list[index] * rarities[word], 0);
      const isNamed = wordsOf(each.title).join(' ') === whole || each.title.split(' ')[0] === whole;
      return { each, score: (sum + (isNamed ? WHOLE_TITLE_WEIGHT : 0)) * (KIND_WEIGHTS[each.entry.kind] ?? 1) };
    });
    const found = scored.filter(({ score }) => score > 0).sort((one, other) => other.score - one.score);
    return found.slice(0, MOST_FOUND).map(({ each }) => ({ entry: each.entry, excerpt: excerptOf(each, patterns) }));
  };
}

/** Zero without the word. A long text contains many words, so its words count for less. */
function weightOf({ title, text }: Read, pattern: RegExp, averageLength: number): number {
  const inTitle = pattern.test(title) ? TITLE_WEIGHT : 0;
  return inTitle + (pattern.test(text) ? 2 / (1 + text.length / averageLength) + 0.5 : 0);
}

/** Returns the text around the longest of the words that it contains. */
function excerptOf({ entry, text }: Read, patterns: readonly RegExp[]): string {
  const places = patterns.map((pattern) => pattern.exec(text)).filter((place) => place !== null);
  const [longest] = places.sort((one, other) => other[0].length - one[0].length);
  const from = Math.max(0, (longest?.index ?? 0) - EXCERPT_BEFORE);
  const start = from === 0 ? 0 : entry.text.indexOf(' ', from) + 1;
  const end = start + EXCERPT_LENGTH;
  return `${start === 0 ? '' : '… '}${entry.text.slice(start, end)}${end < entry.text.length ? ' …' : ''}`;
}

/** Returns each word once: letters, digits, and characters that join numbers and names. */
function wordsOf(text: string): string[] {
  return [...new Set(folded(text).match(/[\p{L}\p{N}]+(?:[._][\p{L}\p{N}]+)*/gu) ?? [])];
}

function folded(text: string): string {
  return text.toLowerCase();
}

function escapedPattern(word: string): string {
  return word.replaceAll('.', '\\.');
}
