/** Lines of Python as black leaves them: calls, imports and docstrings of methods. */

const WIDTH = 120;

export function importOf(module: string, names: readonly string[]): string {
  if (names.length === 0) return '';
  const line = `from ${module} import ${names.join(', ')}`;
  return line.length <= WIDTH ? line : `from ${module} import (\n${names.map((name) => `    ${name},\n`).join('')})`;
}

/** Formatted as by black. */
export function callText(callee: string, parts: readonly string[]): string {
  const one = `        return ${callee}(${parts.join(', ')})`;
  if (one.length <= WIDTH) return one;
  const inner = `            ${parts.join(', ')}`;
  if (inner.length <= WIDTH) return `        return ${callee}(\n${inner}\n        )`;
  const rows = parts.map((part) => {
    const row = `            ${part},`;
    return row.length <= WIDTH ? row : broken(part);
  });
  return `        return ${callee}(\n${rows.join('\n')}\n        )`;
}

/** A dictionary of many members, one a line. */
function broken(part: string): string {
  const [, head, inner] = /^(\w+=(?:given|set_or_null)\()(.*)\)$/s.exec(part) ?? [];
  if (inner !== undefined && !inner.includes('set_or_null'))
    return `            ${head}\n${inner
      .split(', ')
      .map((row) => `                ${row},\n`)
      .join('')}            ),`;
  const merged = /^body=\{\*\*given\((.*)\), \*\*set_or_null\((.*)\)\}$/s.exec(part);
  if (merged === null) return `            ${part},`;
  const of = (name: string, text: string): string => {
    const one = `                **${name}(${text}),\n`;
    return one.length <= WIDTH
      ? one
      : `                **${name}(\n${text
          .split(', ')
          .map((row) => `                    ${row},\n`)
          .join('')}                ),\n`;
  };
  return `            body={\n${of('given', merged[1]!)}${of('set_or_null', merged[2]!)}            },`;
}

export function docstring(summary: string, lines: readonly string[]): string {
  const indent = '        ';
  const one = `${indent}"""${summary}"""`;
  if (lines.length === 0 && one.length <= WIDTH) return one;
  const rows = [summary, ...(lines.length === 0 ? [] : ['']), ...lines].flatMap((text) =>
    wrapped(text.replaceAll('\\', '\\\\'), WIDTH - indent.length - 3),
  );
  const text = rows.map((row, index) => (index === 0 || row === '' ? row : indent + row)).join('\n');
  return `${indent}"""${text}\n${indent}"""`;
}

function wrapped(text: string, width: number): string[] {
  const rows: string[] = [];
  let row = '';
  for (const word of text.split(' ')) {
    if (row !== '' && `${row} ${word}`.length > width) {
      rows.push(row);
      row = word;
    } else row = row === '' ? word : `${row} ${word}`;
  }
  return [...rows, row];
}

/** `listFiatSessions` is "list_fiat_sessions". */
export function snake(name: string): string {
  return name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase()
    .replaceAll('-', '_');
}
