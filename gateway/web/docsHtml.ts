/** Turns text into HTML. */
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ESCAPES[character]);
}

/** A sentence of the interface's documents: names of the exchange's documents in it become links. */
export function sentence(text: string): string {
  return escaped(text).replaceAll(/(?<=^| )\/(?:docs\/[a-z/-]*[a-z]|[a-z]+api\.json)/g, '<a href="$&">$&</a>');
}

/** The address of a heading within its page, as GitHub writes it. */
export function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** A wide element scrolls by itself, with the keyboard too, and the page stays as wide as the screen. */
function scrolling(html: string): string {
  return `<div class="scroll" tabindex="0">${html}</div>`;
}

export function codeBlock(text: string): string {
  return `<pre tabindex="0"><code>${escaped(text)}</code></pre>`;
}

/** @param ids the ids of rows that have an address */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  ids: readonly (string | undefined)[] = [],
): string {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join('');
  const body = rows.map((cells, index) => {
    const id = ids[index] === undefined ? '' : ` id="${ids[index]}"`;
    return `<tr${id}>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
  });
  return scrolling(`<table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table>`);
}
