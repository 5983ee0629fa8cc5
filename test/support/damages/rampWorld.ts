/**
 * Makes ramp.db for the battery of damages: the sandbox provider is a program of its own with its file in the
 * exchange's directory.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { RampStore } from '../../../gateway/programs/ramp/store.ts';
import { addressOf } from '../../../shared/client/privateKey.ts';
import { argumentsOfNode } from '../builtPrograms.ts';
import { freePort } from '../freePort.ts';
import { RAMP_PROGRAM } from '../rampProcess.ts';
import { AS_NOBODY, NOBODY } from './nobody.ts';

const API_KEY = 'the-key-of-the-exchange';
const KEY = `0x${'11'.repeat(32)}`;
const OTHER_KEY = `0x${'22'.repeat(32)}`;
const START_MS = 1_700_000_000_000;
const CUSTOMER = `0x${'c0'.repeat(20)}`;
const RAMP_FILE = 'ramp.db';

/** Deals that are over, as a stopped provider leaves them; a later directory also has those of an earlier one. */
export function fillRamp(directory: string, { deals, isOther = false }: { deals: number; isOther?: boolean }): void {
  const path = join(directory, RAMP_FILE);
  const store = new RampStore(path);
  const kept = { kind: 'onramp', wallet: CUSTOMER, currency: 'USD', method: 'card' } as const;
  store.setSetting('wallet', addressOf(isOther ? OTHER_KEY : KEY).toLowerCase());
  for (let deal = 1; deal <= deals; deal++) {
    const [id, reference] = [`deal-${deal}`, `reference-${deal % 5}`];
    const launch = { id: `launch-${deal}`, token_hash: `token-${deal}`, visitor_hash: `visitor-${deal}` };
    const [amount_micro, at] = [deal * 1_000_000, START_MS + deal];
    store.addLaunch({ ...kept, ...launch, reference, amount_micro, return_url: null, expires_ms: at });
    const times = { agreed_ms: at, listed_ms: at, deadline_ms: null, funded_ms: null, updated_ms: at };
    const ended = { status: 'success', tx_hash: null, is_open: 0 } as const;
    store.addDeal({ ...kept, ...times, ...ended, id, launch_id: launch.id, reference, amount_micro });
  }
  store.close();
  chownSync(path, NOBODY, NOBODY);
}

/** A start of the provider, which answers with the deals that the file has. It is killed afterwards. */
export async function startRamp(directory: string): Promise<{ readonly code: number; readonly text: string }> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const [command, ...args] = [...AS_NOBODY, process.execPath, ...argumentsOfNode(), RAMP_PROGRAM];
  const child = spawn(command!, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      FIAT_SANDBOX_URL: url,
      FIAT_SANDBOX_API_KEY: API_KEY,
      FIAT_SANDBOX_WEBHOOK_SECRETS: 'the-secret-of-events',
      RAMP_PRIVATE_KEY: KEY,
      RAMP_FILE: join(directory, RAMP_FILE),
    },
  });
  const lines: string[] = [];
  child.stderr.on('data', (text) => lines.push(String(text).trim()));
  const ended = once(child, 'close').then(([code]) => Number(code));
  const code = await Promise.race([once(child.stdout, 'data').then(() => null), ended]);
  if (code !== null) return { code, text: lines.join('\n') };
  const headers = { authorization: `Bearer ${API_KEY}` };
  const { status } = await fetch(`${url}/v1/deals?kind=onramp&reference=reference-1`, { headers });
  child.kill('SIGKILL');
  await ended;
  const answer = status === 200 ? 'tells the same' : `answers ${status}`;
  return { code: 0, text: [`ready ${status}`, answer, ...lines].join('\n') };
}
