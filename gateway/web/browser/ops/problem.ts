/** A problem in words. Its urgency and its runbook are those of the alert that rings for it. */
import { ALERTS, type Alert } from './alerts.ts';

/** The parts of the exchange, as the overview lists them. */
export type Subject = 'Trading' | 'Shards' | 'Backups' | 'Disk' | 'Members' | 'Chain' | 'Surroundings';

/**
 * `bad` needs a hand now, `warn` within a working day, and `soon` if it lasts (lasting.ts); a `note` says what an
 * operator has set, and needs none.
 */
export type Level = 'bad' | 'warn' | 'soon' | 'note';

export type Problem = {
  readonly level: Level;
  readonly subject: Subject;
  readonly text: string;
  /** The section of incidents.md. */
  readonly runbook: string;
  /** The same for as long as it lasts, while its text changes with its numbers. */
  readonly key: string;
  /** Its alert rings when it has lasted for this long. */
  readonly lastsMs: number;
  /** The time left until then, of one that has not lasted for long enough. */
  readonly leftMs?: number;
};

type AlertName = keyof typeof ALERTS;

const LEVELS: Readonly<Record<Alert['severity'], Level>> = { page: 'bad', ticket: 'warn' };
const ORDER: readonly Level[] = ['bad', 'warn', 'soon', 'note'];
const MS = 1000;

/** @param of what it concerns, where one alert may ring for several */
export function ringing(name: AlertName, subject: Subject, text: string, of: string | number = ''): Problem {
  const { severity, runbook, lastsSec } = ALERTS[name];
  return { level: LEVELS[severity], subject, text, runbook, key: `${name} ${of}`, lastsMs: lastsSec * MS };
}

/** A state that an operator has set. */
export function noted(subject: Subject, text: string, runbook: string): Problem {
  return { level: 'note', subject, text, runbook, key: text, lastsMs: 0 };
}

/** The number that the alert compares with. */
export function boundOf(name: AlertName): number {
  const { bound } = ALERTS[name];
  if (bound === null) throw new Error(`${name} compares with no number`);
  return bound;
}

export function worstFirst(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
}
