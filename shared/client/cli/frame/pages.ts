/** The options of lists that come in pages. */
import type { OptionSpecs } from './command.ts';
import { numberOf } from './orderForm.ts';

export const PAGE_OPTIONS = {
  limit: { value: 'number', description: 'how many at most' },
  cursor: { value: 'text', description: 'continue after a page, with the cursor it ended with' },
} as const satisfies OptionSpecs;

type Paged = { readonly limit: string | undefined; readonly cursor: string | undefined };

export function pageQuery({ limit, cursor }: Paged): { limit?: number; cursor?: string } {
  return {
    ...(limit === undefined ? {} : { limit: numberOf('limit', limit) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

/** The last line of a page that is followed by another. */
export function nextLine(cursor: string | number | null): string[] {
  return cursor === null ? [] : [`more: --cursor ${cursor}`];
}
