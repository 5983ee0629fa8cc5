/** `npm run ramp`: the sandbox provider as a process of its own (RULES.md 16.70 to 16.78). */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemClock } from '../../../shared/base/clock.ts';
import { errorMessage } from '../../../shared/base/thrown.ts';
import { openNodes } from '../../../shared/chain/nodes.ts';
import { ChainRail } from './chainRail.ts';
import { ExchangeRail } from './exchangeRail.ts';
import type { SendHook } from './hooks.ts';
import type { RampRail } from './rail.ts';
import { Ramp } from './ramp.ts';
import { type RampSettings, readRampSettings } from './settings.ts';
import { openRampStore } from './store.ts';

const EXIT_CONFIG = 78;
const HOOK_TIMEOUT_MS = 5000;
const NOTE_EVERY_MS = 60_000;
/** This many failures within OUTAGE_MS are an outage. */
const FAILURES_OF_OUTAGE = 8;
const OUTAGE_MS = 10_000;

async function run(settings: RampSettings): Promise<void> {
  const { url, apiKey, webhookSecret, exchangeUrl, file, returnOrigins, hasControl } = settings;
  mkdirSync(dirname(file), { recursive: true });
  const rail = railOf(settings);
  const ramp = new Ramp({
    store: openRampStore(file, rail.address, console.error),
    rail,
    clock: systemClock,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    apiKey,
    webhookSecret,
    sendHook: sender(new URL('/v1/fiat/webhooks/sandbox', exchangeUrl)),
    url,
    returnOrigins,
    hasControl,
    onError: noted(),
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ramp.close());
  // The demo of an exchange has started this process and holds the other end of the channel, which closes even if the
  // demo is killed.
  process.once('disconnect', () => process.exit(0));
  await ramp.listen(url.hostname.replace(/^\[|\]$/g, ''), Number(url.port || 80));
  console.log(`sandbox provider  ${url.origin}\nits wallet        ${rail.address}`);
}

function railOf({ chain, exchangeUrl, privateKey }: RampSettings): RampRail {
  if (chain === null) return new ExchangeRail(exchangeUrl.origin, privateKey);
  const { rpcUrl, ...terms } = chain;
  return new ChainRail({ rpc: openNodes(rpcUrl), ...terms, privateKey, nowMs: () => systemClock.nowMs() });
}

/** Sends events to the exchange. */
function sender(url: URL): SendHook {
  return async ({ headers, body }) => {
    const signal = AbortSignal.timeout(HOOK_TIMEOUT_MS);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return response.ok;
  };
}

/**
 * Logs failures once a minute, and not a short one: an exchange that is down is asked twice a second, and one that is
 * starting soon answers.
 */
function noted(): (error: unknown) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  let recent: number[] = [];
  return (error) => {
    const nowMs = systemClock.nowMs();
    recent = [...recent.filter((atMs) => nowMs - atMs < OUTAGE_MS), nowMs];
    if (recent.length < FAILURES_OF_OUTAGE || nowMs - lastMs < NOTE_EVERY_MS) return;
    lastMs = nowMs;
    console.error(`the sandbox provider goes on when this is over: ${errorMessage(error)}`);
  };
}

const settings = readRampSettings(process.env);
if (typeof settings === 'string') {
  console.error(`error: ${settings}`);
  process.exitCode = EXIT_CONFIG;
} else {
  run(settings).catch((error: Error) => {
    console.error(`error: ${error.message}`);
    process.exitCode = 1;
  });
}
