/**
 * Compares what a command printed with what a document shows. In the document `…` stands for anything within a line,
 * and on a line of its own for any lines; identifiers, hashes and times need only have the same form.
 */

/** Each form that differs from run to run, in the order in which they are looked for. */
const FORMS: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/, '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}'],
  [/0x[0-9a-f]{8,}/, '0x[0-9a-f]{8,}'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/, '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z'],
  [/\d{4}-\d\d-\d\d/, '\\d{4}-\\d\\d-\\d\\d'],
  [/…/, '[^\\n]*?'],
];
const VARIABLE = new RegExp(FORMS.map(([form]) => `(${form.source})`).join('|'), 'g');

/** @returns null when it is the same, or the first line of the document that was not printed. */
export function differenceIn(printed: string, shown: string): string | null {
  const actual = `${trimmed(printed)}\n`;
  const lines = trimmed(shown).split('\n');
  for (let count = 1; count <= lines.length; count++) {
    const pattern = lines.slice(0, count).map(patternOf).join('');
    const isWhole = count === lines.length;
    if (!new RegExp(`^${pattern}${isWhole ? '$' : ''}`).test(actual)) return lines[count - 1]!;
  }
  return null;
}

function patternOf(line: string): string {
  if (line.trim() === '…') return '(?:[^\\n]*\\n)*?';
  let pattern = '';
  let from = 0;
  for (const match of line.matchAll(VARIABLE)) {
    pattern += escaped(line.slice(from, match.index));
    pattern += FORMS[match.slice(1).findIndex((group) => group !== undefined)]![1];
    from = match.index + match[0].length;
  }
  return `${pattern}${escaped(line.slice(from))}\\n`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function trimmed(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/^\n+|\n+$/g, '');
}
