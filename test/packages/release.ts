/**
 * `node shared/run.mjs test/packages/release.ts`: stores in test/vectors/client the client of this version, and its
 * exchange's answers to a tour, for later versions (test/api/versions.test.ts).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { ExchangeClient } from '../../shared/client/index.ts';
import { temporaryDirectory } from '../support/directory.ts';
import { TestServer } from '../support/server.ts';
import { makeMarket, makeTrader } from '../support/traders.ts';
import { type Recording, recordingInto } from './recorded.ts';
import { TOUR_SCOPES, takeTour } from './tour.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KEPT = join(ROOT, 'test/vectors/client');
const PRIVATE_KEY = `0x${'7'.repeat(64)}`;

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
mkdirSync(KEPT, { recursive: true });

const { outputFiles } = buildSync({
  entryPoints: [join(ROOT, 'shared/client/index.ts')],
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  platform: 'neutral',
  mainFields: ['module', 'main'],
});
writeFileSync(join(KEPT, `${version}.mjs.gz`), gzipSync(outputFiles[0]!.contents, { level: 9 }));

const server = new TestServer(temporaryDirectory());
await server.start({});
const market = await makeMarket(server);
const { credentials } = await makeTrader(server, { privateKey: PRIVATE_KEY, scopes: TOUR_SCOPES });
const recording: Recording = { marketId: market.id, answers: {}, frames: [] };
const { fetch, openSocket } = recordingInto(recording);
const options = { baseUrl: server.baseUrl, credentials, wallet: PRIVATE_KEY, fetch };
const understood = await takeTour(new ExchangeClient(options), market.id, openSocket);
await server.kill();
const kept = { privateKey: PRIVATE_KEY, understood, ...recording };
writeFileSync(join(KEPT, `${version}.json`), `${JSON.stringify(kept, null, 1)}\n`);
