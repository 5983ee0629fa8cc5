/** The properties that each section of the page gets; a new section is a row in main.ts. */
import type { AdminClient } from '../../../../shared/client/admin.ts';
import type { BackupReport, Operations } from '../../../../shared/client/types.ts';
import type { Operator } from './access.ts';
import type { Problem } from './problem.ts';
import type { Reports } from './reports.ts';

export type ViewProps = {
  readonly client: AdminClient;
  readonly operator: Operator;
  readonly reports: Reports;
  /** The last report. */
  readonly last: Operations;
  /** Null while it is not known. */
  readonly backups: BackupReport | null;
  /** Worst first. */
  readonly problems: readonly Problem[];
};
