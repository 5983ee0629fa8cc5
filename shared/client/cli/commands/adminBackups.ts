/** Operators' commands for backups: the exchange makes them itself, into the folder that its settings name. */
import type { BackupReport } from '../../types.ts';
import { command } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { numberOf } from '../frame/orderForm.ts';
import { pause } from '../frame/terminal.ts';
import { facts } from '../frame/text.ts';

const LOOK_MS = 500;
const MEGABYTE = 1_000_000;

export const ADMIN_BACKUPS = [
  command({
    name: 'admin backup',
    summary: 'Make a backup of the data directory, and follow it to its end; exit code 1 if it fails',
    details:
      'The exchange makes it into the folder that its setting BACKUP_TARGET names. Ctrl-C ends the watching alone.',
    options: {
      rate: { value: 'MB', description: 'megabytes a second that are read at most; 0: no limit' },
      detach: { description: 'do not wait for the end' },
    },
    examples: ['admin backup', 'admin backup --rate 10 --detach'],
    json: 'the answer of GET /admin/platform/backup, at the end',
    run: async (context, { rate, detach }) => {
      const begun = await context.admin().backUp(rate === undefined ? {} : { rate: numberOf('rate', rate) });
      const report = detach ? begun : await followed(context, begun);
      return {
        value: report,
        lines: detach ? linesOf(report) : report.lines,
        isBad: !detach && report.state !== 'done',
      };
    },
  }),
  command({
    name: 'admin backups',
    summary: 'Show the backup that is under way, and how the last ones and the drills ended',
    json: 'the answer of GET /admin/platform/backup',
    run: async (context) => {
      const report = await context.admin().backups();
      return { value: report, lines: linesOf(report) };
    },
  }),
];

/** Its progress is printed as a note beside the result. */
async function followed(context: Context, begun: BackupReport): Promise<BackupReport> {
  let report = begun;
  let noted = '';
  while (report.state === 'running' && (await pause(context.terminal, LOOK_MS))) {
    report = await context.admin().backups();
    const progress = progressOf(report);
    if (report.state === 'running' && progress !== noted) context.note(progress);
    noted = progress;
  }
  return report;
}

function linesOf(report: BackupReport): string[] {
  return facts([
    ['folder', report.folder ?? 'none is set: BACKUP_TARGET'],
    ['backup', report.state === 'running' ? progressOf(report) : report.state],
    ['says', report.lines.at(-1) ?? 'nothing'],
    ['last whole one', report.backed_up_at ?? 'never'],
    ['failed since', report.failed_at ?? 'no'],
    ['last drill', report.restored_at ?? 'never'],
    ['drill failed since', report.drill_failed_at ?? 'no'],
  ]);
}

function progressOf({ read_bytes, directory_bytes }: BackupReport): string {
  return `running: ${inMegabytes(read_bytes)} of ${inMegabytes(directory_bytes)} MB are read`;
}

function inMegabytes(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(1);
}
