/** The numbers in the guides equal those of the program. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MAX_CONNECTIONS_PER_KEY } from '../../../gateway/access/keyCredential.ts';
import { MAX_CONNECTIONS_OF_SESSIONS } from '../../../gateway/access/sessionCredential.ts';
import { LIMIT_CLASSES, TIER_LIMITS } from '../../../gateway/base/classes.ts';
import { parseConfig } from '../../../gateway/base/config.ts';
import { MAX_MARKETS } from '../../../gateway/stream/frames.ts';
import * as stream from '../../../gateway/stream/limits.ts';
import { REPLAY_PRIVATE } from '../../../gateway/stream/privateLog.ts';

function guide(name: string): string {
  return readFileSync(new URL(`../../../data/docs/${name}.md`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');
}

function says(name: string, ...sentences: string[]): void {
  for (const sentence of sentences) assert.ok(guide(name).includes(sentence), `${name}.md: ${sentence}`);
}

test('tiers, the usual limit and the bounds of open orders', () => {
  const { standard, premium, market_maker: maker } = TIER_LIMITS;
  const { inAll, inMarket } = parseConfig({}, 2).openOrders;
  says(
    'rate-limits',
    `\`standard\` ${standard.requests}, \`premium\` ${premium.requests}, \`market_maker\` ${maker.requests} requests a`,
    `${LIMIT_CLASSES.unlisted.requests} requests a minute`,
    `${inAll.toLocaleString('en')} of an account, ${inMarket.toLocaleString('en')} of them in one market`,
  );
});

test('the limits of the stream', () => {
  const kib = stream.MAX_MESSAGE_BYTES / 1024;
  says(
    'rate-limits',
    `${MAX_CONNECTIONS_PER_KEY} a key, ${MAX_CONNECTIONS_OF_SESSIONS} for all sessions of an account`,
    `${stream.MAX_MESSAGES_PER_SECOND} a second, ${kib} KiB each`,
  );
  says(
    'streams',
    `the server pings every ${stream.PING_EVERY_MS / 1000} seconds`,
    `a \`heartbeat\` comes every ${stream.HEARTBEAT_EVERY_MS / 1000}`,
    `nothing came from you for ${stream.IDLE_CLOSE_MS / 1000} seconds`,
    `more than ${stream.MAX_BUFFERED_BYTES / 1024 ** 2} MiB waited for you`,
    `The last ${REPLAY_PRIVATE.toLocaleString('en')} frames are kept`,
    `${MAX_CONNECTIONS_PER_KEY} connections a key, ${MAX_MARKETS} markets a connection`,
  );
});
