/** `npm run polymarket`: what the clients of Polymarket speak, before an exchange. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemClock } from '../../../shared/base/clock.ts';
import { errorMessage } from '../../../shared/base/thrown.ts';
import { Polymarket } from './polymarket.ts';
import { type PolymarketSettings, readPolymarketSettings } from './settings.ts';
import { PolymarketStore } from './store.ts';

const EXIT_CONFIG = 78;

async function run(settings: PolymarketSettings): Promise<void> {
  const { url, exchangeUrl, file, isPlay, hasFaults } = settings;
  mkdirSync(dirname(file), { recursive: true });
  const facade = await Polymarket.open({
    settings,
    store: new PolymarketStore(file),
    clock: systemClock,
    randomHex: (bytes) => randomBytes(bytes).toString('hex'),
    onError: (error) => console.error(`error: ${errorMessage(error)}`),
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end(facade));
  // The demo has started this process, and holds the other end of the channel.
  process.once('disconnect', () => process.exit(0));
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = await facade.listen(host, Number(url.port || 80)).catch((error: unknown) => {
    end(facade);
    throw error;
  });
  const origin = `http://${url.hostname}:${port}`;
  console.log(`CLOB       ${origin}   of the exchange at ${exchangeUrl.origin}, with ${isPlay ? 'play' : 'own'} money`);
  console.log(`Catalogue  ${origin}/gamma\nSockets    ${origin.replace('http', 'ws')}/ws`);
  if (hasFaults) console.log(`Faults     ${origin}/control/faults`);
}

/** An open channel to the demo would keep the process. */
function end(facade: Polymarket): void {
  facade.close();
  if (process.connected) process.disconnect();
}

const settings = readPolymarketSettings(process.env);
if (typeof settings === 'string') {
  console.error(`error: ${settings}`);
  process.exitCode = EXIT_CONFIG;
} else {
  run(settings).catch((error: unknown) => {
    console.error(`error: ${errorMessage(error)}`);
    process.exitCode = 1;
  });
}
