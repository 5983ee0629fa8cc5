/** Formats values for a terminal: amounts with their decimal point, and aligned columns. */
import { sumToDecimal } from '../../../base/units.ts';

const GAP = '  ';

/** Atomic units as tokens or dollars. */
export function decimal(atomic: string | number | bigint): string {
  const value = BigInt(atomic);
  return value < 0n ? `-${sumToDecimal(-value)}` : sumToDecimal(value);
}

/** A price in the form of every table: exact, with at least two decimals. Null stays null. */
export function shownPrice<P extends string | number | null | undefined>(
  price: P,
): string | Exclude<P, string | number> {
  if (price === null || price === undefined) return price as Exclude<P, string | number>;
  const [whole, fraction = ''] = String(price).split('.');
  return `${whole}.${fraction.replace(/0+$/, '').padEnd(2, '0')}`;
}

export function outcomeName(index: number): string {
  return index === 0 ? 'Yes' : 'No';
}

/** The cells of a row; a number is aligned to the right. */
export type Row = readonly (string | number | null | undefined)[];

/** A head and rows in columns, each as wide as its widest cell; the last column is not padded. */
export function columns(head: readonly string[], rows: readonly Row[], nothing = 'none'): string[] {
  if (rows.length === 0) return [nothing];
  const cells = rows.map((row) => head.map((_, at) => printable(row[at] ?? '-')));
  const isNumeric = head.map((_, at) => cells.every((row) => /^-?[\d.]+%?$|^-$/.test(row[at])));
  const widths = head.map((title, at) => Math.max(title.length, ...cells.map((row) => row[at].length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (isNumeric[at] ? cell.padStart(widths[at]) : cell.padEnd(widths[at])))
      .join(GAP)
      .trimEnd();
  return [line(head.map((title) => title.toUpperCase())), ...cells.map(line)];
}

/** One value per line, the names in a column. An undefined value has no line. */
export function facts(pairs: readonly (readonly [string, string | number | boolean | null | undefined])[]): string[] {
  const shown = pairs.filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}${GAP}${printable(value ?? '-')}`);
}

/**
 * Characters that control a terminal, or that it hides: control and format characters, line separators, unpaired
 * surrogates, and all invisible characters. The two selectors of how an emoji is drawn are allowed.
 */
const HIDDEN = /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const MARK = '\u00b7';

/**
 * Titles come from other people, so characters that would move the cursor, change colours or be hidden are shown as a
 * mark.
 */
export function printable(value: string | number | boolean): string {
  return String(value).replace(HIDDEN, MARK);
}

/** For text of several lines. */
export function printableLines(text: string): string {
  return text.replace(HIDDEN, (sign) => (sign === '\n' || sign === '\t' ? sign : MARK));
}

/** The same JSON value: a sign that a terminal would obey or hide is written as its escape. */
export function printableJson(value: unknown, indent?: number): string {
  return String(JSON.stringify(value, null, indent)).replace(HIDDEN, (sign) => (sign === '\n' ? sign : escaped(sign)));
}

function escaped(sign: string): string {
  const units = Array.from({ length: sign.length }, (_, at) => sign.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** Removes the byte order mark that some editors put at the beginning of a file. */
export function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}
