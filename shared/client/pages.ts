/** Lists of any length, row by row: each page is asked for when it is needed. */

type Page = { readonly next_cursor?: string | null };

/** @param load gives the page that a cursor leads to, the first one without; @param rowsOf the rows of a page */
export async function* eachRow<P extends Page, R>(
  load: (cursor: string | undefined) => Promise<P>,
  rowsOf: (page: P) => readonly R[],
): AsyncGenerator<R, void, undefined> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await load(cursor);
    yield* rowsOf(page);
    cursor = page.next_cursor ?? null;
  }
}
