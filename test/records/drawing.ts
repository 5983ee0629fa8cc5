/**
 * Draws a record: four words per row, each field as wide as it is long, and below it the declaration's notes on its
 * fields.
 */
import type { AnyLayout } from '../../shared/wire/layout.ts';
import { FIRST_VERSION } from '../../shared/wire/version.ts';

const WORDS_A_ROW = 4;
const CELL_WIDTH = 22;
/** Rows of one field that are drawn; the rest of a long field is left out. */
const MOST_ROWS = 2;

type Field = AnyLayout['DECLARATION']['fields'][string] & { readonly over?: string };
type Span = { readonly name: string; readonly from: number; readonly to: number };

/** The Markdown section of a record. Fields of `header` are left out: they are drawn once for the whole family. */
export function drawing(layout: AnyLayout, header?: AnyLayout): string {
  const { TYPE, WORDS, BYTES } = layout;
  const { name, note, since } = layout.DECLARATION;
  const type = TYPE === 0 ? '' : `Type ${TYPE}, `;
  const lines = [`### ${name}`, '', `${note}\n${type}${WORDS} words, ${BYTES} bytes${ageOf(since)}.`, ''];
  const rows = rowsOf(layout, header?.WORDS ?? 0);
  if (rows.length > 0) lines.push('```', ...rows, '```', '');
  lines.push(...notesOf(layout, header?.DECLARATION.fields ?? {}));
  return `${lines.join('\n').trimEnd()}\n`;
}

function fieldsOf(layout: AnyLayout): [string, Field][] {
  return Object.entries(layout.DECLARATION.fields) as [string, Field][];
}

function offsetOf(layout: AnyLayout, field: string): number {
  return (layout as unknown as Record<string, number>)[field];
}

/** A record of bytes, or with a line of its own for each word, is a list: its words would not fit into a drawing. */
function rowsOf(layout: AnyLayout, from: number): string[] {
  const fields = fieldsOf(layout).filter(([, { over }]) => over === undefined);
  const isList = layout.DECLARATION.unit === 1 || fields.some(([, { bytes }]) => bytes > 100 && bytes % 128 === 0);
  return isList ? listOf(layout, fields) : gridOf(layout, fields, from);
}

function listOf(layout: AnyLayout, fields: readonly [string, Field][]): string[] {
  const perUnit = layout.DECLARATION.unit;
  return fields.map(([name, { form }]) => {
    const at = String(offsetOf(layout, name) * perUnit).padStart(5);
    return `byte ${at}   ${name.padEnd(CELL_WIDTH)}${form}`;
  });
}

function gridOf(layout: AnyLayout, fields: readonly [string, Field][], first: number): string[] {
  const spans = fields.map(([name, field]): Span => {
    const from = offsetOf(layout, name);
    return { name: field.form === 'unused' ? '' : name, from, to: from + Math.ceil(field.bytes / 4) };
  });
  const rows: string[] = [];
  for (let row = first; row < layout.WORDS; row += WORDS_A_ROW) {
    const end = Math.min(row + WORDS_A_ROW, layout.WORDS);
    if (isInsideLong(spans, row, end)) {
      if (!rows.at(-1)!.includes('…')) rows.push('     |  …');
      continue;
    }
    rows.push(`${String(row).padStart(4)} |${cellsOf(spans, row, end)}`);
  }
  return rows;
}

/** True if a row only shows the middle of a field of which enough has been drawn. */
function isInsideLong(spans: readonly Span[], row: number, end: number): boolean {
  return spans.some(({ from, to }) => row >= from + MOST_ROWS * WORDS_A_ROW && end <= to);
}

function cellsOf(spans: readonly Span[], row: number, end: number): string {
  let cells = '';
  for (const { name, from, to } of spans) {
    const start = Math.max(from, row);
    const stop = Math.min(to, end);
    if (start >= stop) continue;
    const width = (stop - start) * CELL_WIDTH + (stop - start - 1);
    cells += ` ${(start === from ? name : '"').padEnd(width - 1).slice(0, width - 1)}|`;
  }
  return cells;
}

function notesOf(layout: AnyLayout, header: AnyLayout['DECLARATION']['fields']): string[] {
  return fieldsOf(layout).flatMap(([name, field]) => {
    const { form, note, over, bytes, since, absent } = field;
    if (form === 'unused' || header[name] === field) return [];
    const words = bytes <= 4 ? 'word' : 'words';
    const where = over === undefined ? '' : `the ${words} of \`${over}\``;
    const shape = isPlain(form) ? '' : form;
    const age = since === undefined ? '' : `since version ${since}, ${absent} in older records`;
    const parts = [where, shape, note, age].filter((part) => part !== '');
    return parts.length === 0 ? [] : [`- \`${name}\`: ${parts.join('; ')}`];
  });
}

/** A record of the first version has no such words. */
function ageOf(since: number): string {
  return since === FIRST_VERSION ? '' : `, since version ${since}`;
}

/** The drawing shows it by the name and its width. */
function isPlain(form: string): boolean {
  return form === 'safe' || form.startsWith('u32') || form.endsWith(' bytes');
}
