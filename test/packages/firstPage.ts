/** The first page of a document, as the page of a package in a registry. */

/**
 * Up to the heading, without what only this project's tools read. Links lead to other documents of an exchange, which
 * a registry does not have, so their words stay alone.
 */
export function firstPage(document: string, nextHeading: string): string {
  const end = document.indexOf(`\n## ${nextHeading}\n`);
  if (end < 0) throw new Error(`the document has no "${nextHeading}"`);
  return document
    .slice(0, end)
    .replaceAll(/^```(\w+) .*$/gm, '```$1')
    .replaceAll(/\[([^\]]+)\]\((?!https:)[^)]+\)/g, '$1')
    .trimEnd()
    .concat('\n\nAn exchange serves the rest of this document, and its other documents, under `/docs`.\n');
}
