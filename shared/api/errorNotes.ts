/**
 * The meaning of each error for a client, for the catalogue in the documents (/docs/errors) and for tools that explain
 * a refusal. The compiler requires a note for every row of shared/base/errors.ts.
 */
import type { ErrorKey } from '../base/errors.ts';
import type { ErrorNote } from './errorNote.ts';
import { ORDER_ERROR_NOTES } from './orderErrorNotes.ts';
import { REQUEST_ERROR_NOTES } from './requestErrorNotes.ts';

export const ERROR_NOTES: Readonly<Record<ErrorKey, ErrorNote>> = { ...REQUEST_ERROR_NOTES, ...ORDER_ERROR_NOTES };
