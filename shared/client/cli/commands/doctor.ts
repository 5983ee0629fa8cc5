/** Examines everything between this terminal and a filled order, and says what is wrong and what to do. */
import { checkFunds, checkLimits, checkScopes, checkSignIn, checkState, checkWallet } from '../doctor/account.ts';
import { checkClock, checkEncryption, checkReached, checkReady, checkSettings } from '../doctor/exchange.ts';
import type { Finding, Patient, Step } from '../doctor/finding.ts';
import { checkPrivateStream, checkSignature, checkStream } from '../doctor/trading.ts';
import { command } from '../frame/command.ts';
import type { Context } from '../frame/context.ts';
import { explain } from '../frame/explain.ts';
import type { Colour } from '../frame/terminal.ts';
import { printable } from '../frame/text.ts';

/** The order of the steps: a fault in one explains faults in later ones. */
const STEPS: readonly (readonly [string, Step])[] = [
  ['reachable', checkReached],
  ['encryption', checkEncryption],
  ['exchange', checkReady],
  ['clock', checkClock],
  ['key', checkSignIn],
  ['scopes', checkScopes],
  ['account', checkState],
  ['wallet', checkWallet],
  ['signature', checkSignature],
  ['funds', checkFunds],
  ['limits', checkLimits],
  ['stream', checkStream],
  ['private stream', checkPrivateStream],
];

const COLOURS: Readonly<Record<Finding['state'], Colour>> = { ok: 'green', warn: 'yellow', fail: 'red', skip: 'dim' };
const STATE_WIDTH = 4;
const CHECK_WIDTH = 15;

const doctor = command({
  name: 'doctor',
  summary: 'Check everything between here and a filled order, and say what to do',
  details:
    'Settings, network, encryption, clock, key and scopes, wallet, a signature that the exchange verifies, funds, ' +
    'limits and both streams. Nothing is changed and no order is placed. Only `fail` makes the exit code 1.',
  access: 'anyone',
  examples: ['doctor', 'doctor --url https://exchange.example --json'],
  json: '`{ok, checks: [{check, state, message, advice}]}`',
  run: async (context) => {
    const checks = await examine(context);
    const isWell = checks.every(({ state }) => state !== 'fail');
    return { value: { ok: isWell, checks }, lines: linesOf(checks, context), isPainted: true, isBad: !isWell };
  },
});

export const DOCTOR = [doctor];

async function examine(context: Context): Promise<Finding[]> {
  const patient: Patient = { context, isReached: false, profile: null, scopes: [], maker: undefined, marketId: null };
  const settings = await checkSettings(patient);
  if (settings.state === 'fail') return [settings];
  const checks: Finding[] = [settings];
  for (const [name, step] of STEPS) checks.push(...[await attempt(name, step, patient)].flat());
  return checks;
}

/** If a step fails in an unexpected way, the failure is a finding too. */
async function attempt(check: string, step: Step, patient: Patient): Promise<Finding | readonly Finding[]> {
  try {
    return await step(patient);
  } catch (error) {
    const { failure } = explain(error);
    return { check, state: 'fail', message: failure.error, advice: failure.hint ?? 'try again; then ask the operator' };
  }
}

function linesOf(checks: readonly Finding[], { paint }: Context): string[] {
  const lines = checks.flatMap(({ check, state, message, advice }) => [
    `${paint(COLOURS[state], state.padEnd(STATE_WIDTH))}  ${check.padEnd(CHECK_WIDTH)} ${printable(message)}`,
    ...(advice === undefined ? [] : [`${' '.repeat(STATE_WIDTH + CHECK_WIDTH + 3)}→ ${printable(advice)}`]),
  ]);
  const count = (state: Finding['state']): number => checks.filter((row) => row.state === state).length;
  const [faults, warnings] = [count('fail'), count('warn')];
  const verdict = [counted(faults, 'fault'), counted(warnings, 'warning')].filter((part) => part !== '').join(', ');
  return [...lines, '', verdict || 'all well'];
}

function counted(count: number, noun: string): string {
  if (count === 0) return '';
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
