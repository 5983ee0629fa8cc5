/** Limits that a person sets themselves: breaks from trading, and reminders. */
import type { Preferences } from '../../types.ts';
import { command } from '../frame/command.ts';
import { UsageError } from '../frame/errors.ts';
import { numberOf } from '../frame/orderForm.ts';
import { facts } from '../frame/text.ts';

const OFF = 'off';

export const TIMEOUTS = [
  command({
    name: 'timeout show',
    summary: 'Show the trading timeout in force',
    json: 'the answer of GET /v1/user/rg/timeout: the timeout, or null',
    run: async (context) => {
      const answer = await (await context.client()).gaming.timeout();
      const lines = [answer === null ? 'no trading timeout' : `no new orders until ${answer.ends_at}`];
      return { value: answer, lines };
    },
  }),
  command({
    name: 'timeout start',
    summary: 'Stop yourself from trading for a while; risk may still be reduced',
    arguments: {
      length: { description: 'how long', choices: ['24h', '7d', '30d', 'custom'] },
    },
    options: { hours: { value: 'number', description: 'with custom: how many hours' } },
    examples: ['timeout start 24h', 'timeout start custom --hours 6'],
    json: 'the answer of POST /v1/user/rg/timeout',
    run: async (context, { length, hours }) => {
      if ((length === 'custom') !== (hours !== undefined)) throw new UsageError('custom needs --hours, and no other');
      const custom_hours = hours === undefined ? null : numberOf('hours', hours);
      const { gaming } = await context.client();
      const answer = await gaming.startTimeout({ duration_label: length, custom_hours });
      return { value: answer, lines: [`no new orders until ${answer.ends_at}`] };
    },
  }),
  command({
    name: 'timeout cancel',
    summary: 'End the trading timeout',
    json: 'the answer of POST /v1/user/rg/timeout/cancel',
    run: async (context) => {
      const answer = await (await context.client()).gaming.cancelTimeout();
      return { value: answer, lines: [`cancelled at ${answer.cancelled_at}`] };
    },
  }),
];

export const REMINDERS = [
  command({
    name: 'reminders show',
    summary: 'Show the reminders that you have asked for',
    json: 'the answer of GET /v1/user/rg/preferences',
    run: async (context) => {
      const answer = await (await context.client()).gaming.preferences();
      return { value: answer, lines: reminderLines(answer) };
    },
  }),
  command({
    name: 'reminders set',
    summary: 'Change the reminders; what is left out stays as it is',
    options: {
      'reality-check': {
        value: 'minutes',
        description: 'remind so often how long you have been trading',
        choices: ['15', '30', '60', '120', OFF],
      },
      'session-timeout': {
        value: 'minutes',
        description: 'end sessions on pages after so long',
        choices: ['60', '120', '240', '480', OFF],
      },
    },
    examples: ['reminders set --reality-check 60', 'reminders set --session-timeout off'],
    json: 'the answer of PUT /v1/user/rg/preferences',
    run: async (context, given) => {
      const change: Partial<Preferences> = {
        ...minutes('reality_check_interval_minutes', given['reality-check']),
        ...minutes('session_timeout_minutes', given['session-timeout']),
      };
      if (Object.keys(change).length === 0) throw new UsageError('give --reality-check or --session-timeout');
      const answer = await (await context.client()).gaming.setPreferences(change);
      return { value: answer, lines: reminderLines(answer) };
    },
  }),
];

function minutes(field: string, given: string | undefined): Record<string, number | null> {
  if (given === undefined) return {};
  return { [field]: given === OFF ? null : Number(given) };
}

function reminderLines({ reality_check_interval_minutes, session_timeout_minutes }: Preferences): string[] {
  const text = (value: number | null): string => (value === null ? OFF : `${value} minutes`);
  return facts([
    ['reality check', text(reality_check_interval_minutes)],
    ['session timeout', text(session_timeout_minutes)],
  ]);
}
