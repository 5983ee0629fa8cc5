/** The catalogue of a running exchange, from and to a file, for `npm run admin`. */
import type { Readable, Writable } from 'node:stream';
import type { AdminClient } from '../../shared/client/admin.ts';
import { countsText, exportFile, importFile } from '../../shared/client/cli/frame/catalogueFiles.ts';
import { AdminError } from './directory.ts';

/** @returns what became of the lines, and whether all of them are there */
export async function importCatalogue(
  admin: AdminClient,
  file: string,
  input: Readable,
  err: Writable,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const { counts, lines } = await explained(importFile(admin, file, input, err));
  return { text: countsText(lines, counts), isWhole: counts.failed === 0 };
}

export async function exportCatalogue(admin: AdminClient, file: string, out: Writable): Promise<void> {
  await explained(exportFile(admin, file, out));
}

/** A refusal and a file or exchange that is not there are no bugs. */
async function explained<T>(done: Promise<T>): Promise<T> {
  try {
    return await done;
  } catch (error) {
    const { name, message, code, cause } = error as Error & { code?: string };
    const isKnown = name === 'ApiError' || name === 'TimeoutError' || code !== undefined || cause !== undefined;
    if (!isKnown) throw error;
    throw new AdminError(cause instanceof Error ? `${message}: ${cause.message}` : message);
  }
}
