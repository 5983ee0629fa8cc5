/** Finds the entry that the audit log has of a change that was made just now. */
import type { AdminClient } from '../../../../shared/client/admin.ts';
import type { AuditRecord } from '../../../../shared/client/types.ts';

/** Another tab of the operator may have changed something else meanwhile. */
const LOOKED_AT = 5;

/** @returns the number of the newest record; null if the log cannot be read now */
export async function newestRecord(client: Pick<AdminClient, 'audit'>): Promise<number | null> {
  try {
    return (await client.audit({ limit: 1 })).head.sequence;
  } catch {
    return null;
  }
}

/**
 * Returns the result of the operator's change at this address: the first one after the record that was the newest
 * before the change. Null if there is none, or it cannot be read.
 */
export async function entryOf(
  client: Pick<AdminClient, 'audit'>,
  change: { readonly operator: string; readonly path: string; readonly after: number | null },
): Promise<AuditRecord | null> {
  const { operator, path, after } = change;
  if (after === null) return null;
  try {
    const { records } = await client.audit({ operator, path, event: 'result', limit: LOOKED_AT });
    return records.findLast(({ sequence }) => sequence > after) ?? null;
  } catch {
    return null;
  }
}
