/** The way out of a computation whose request has to be refused; several calls may wait for the same one. */
import type { ErrorRow } from '../../shared/base/errors.ts';
import type { Call } from './call.ts';
import { refuse } from './respond.ts';

export class RefusedError extends Error {
  readonly row: ErrorRow;

  constructor(row: ErrorRow) {
    super(row.message);
    this.row = row;
  }
}

/** Resolves with the result for the call, or with undefined once the call has been refused. */
export async function unlessRefused<T>(call: Call, computed: T | Promise<T>): Promise<T | undefined> {
  try {
    return await computed;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    refuse(call, { row: error.row });
    return undefined;
  }
}
