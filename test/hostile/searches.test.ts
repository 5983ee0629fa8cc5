/**
 * Attack: one address searches the catalogue for words that every description contains, as often as it may (RULES.md
 * 12.4). Its searches wait in its own queue, and each is bounded; the durations for others are printed.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { fileScope } from '../support/fileScope.ts';
import { timesOf } from '../support/seeds.ts';
import { startServer } from '../support/server.ts';
import { measureVictim } from '../support/victim.ts';

const MARKETS = timesOf({ suite: 130, soak: 2000 });
const SEARCHES = 90;
const SAMPLES = 5;
const [ATTACKER, ATTACKER_2] = ['127.0.3.1', '127.0.3.3'];
/** As long as the text of a market may be; one word of three letters finds each of its words. */
const DESCRIPTION = Array.from({ length: 2500 }, (_, index) => `res${index}`).join(' ');

const server = await startServer(fileScope, { SHARDS: '1', RATE_LIMITS: 'on' });
let asked = 0;

async function importMarkets(): Promise<void> {
  const ends = new Date(Date.now() + 86_400_000).toISOString();
  for (let from = 0; from < MARKETS; from += 20) {
    const events = Array.from({ length: Math.min(20, MARKETS - from) }, (_, index) => ({
      event: { slug: `night-${from + index}`, title: `Night ${from + index}`, description: DESCRIPTION },
    }));
    const markets = events.map(({ event }, index) => ({
      market: {
        event_slug: event.slug,
        external_event_id: `S-${from + index}`,
        title: `Will number ${from + index} win?`,
        description: DESCRIPTION,
        category: 'Sports',
        trading_ends_at: ends,
      },
    }));
    const text = [...events, ...markets].map((line) => `${JSON.stringify(line)}\n`).join('');
    const { body } = await server.adminRequest('POST', '/admin/catalogue/import', text);
    assert.equal((body as { failed?: number }).failed, 0, JSON.stringify(body).slice(0, 500));
  }
  await eventually('all markets are listed', async () => {
    const { body } = await ask(`127.0.4.${1 + (asked % 250)}`, '/v1/markets?limit=1');
    return (body as { total: number }).total === MARKETS;
  });
}

async function ask(localAddress: string, path: string): Promise<{ status: number; body: object }> {
  // Another question each time: answers are shared.
  const target = `${path}${path.includes('?') ? '&' : '?'}offset=${asked++ % 50}`;
  const request = get(server.baseUrl + target, { localAddress, agent: false });
  const [response] = await once(request, 'response');
  let text = '';
  for await (const piece of response) text += piece;
  return { status: response.statusCode, body: JSON.parse(text) };
}

await importMarkets();

test('an address that searches as much as it may holds nobody up, and its searches end', async (t) => {
  const worst = 'res'.concat(' res'.repeat(49));
  const answers: { status: number; body: object }[] = [];
  let isAttacked = false;
  let answeredBefore: number | null = null;
  await measureVictim(t, {
    send: async () => {
      // On a slow machine the attack lasts longer than an address may go on asking.
      const { status, body } = await ask(`127.0.5.${1 + (asked % 250)}`, '/v1/markets?limit=20');
      assert.equal(status, 200, JSON.stringify(body));
      if (isAttacked) answeredBefore ??= answers.length;
    },
    attack: () => {
      isAttacked = true;
      return Promise.all(
        Array.from({ length: SEARCHES }, async () =>
          answers.push(await ask(ATTACKER, `/v1/markets?search=${encodeURIComponent(worst)}`)),
        ),
      );
    },
    samples: SAMPLES,
  });
  assert.equal(answers.length, SEARCHES);
  const statuses = new Set(answers.map(({ status }) => status));
  assert.ok(
    [...statuses].every((status) => status === 200 || status === 400),
    [...statuses].join(),
  );
  assert.ok(
    answeredBefore !== null && answeredBefore <= SEARCHES / 3,
    `the bystander was answered after ${answeredBefore} of them`,
  );
});

test('a search that would look at too much is refused with its code, and a narrower one is answered', async () => {
  for (const path of ['/v1/markets', '/v1/events']) {
    const broad = await ask(ATTACKER_2, `${path}?search=res`);
    assert.equal(broad.status, 400);
    assert.deepEqual(broad.body, {
      error: 'the words of the search are too common: write more of each, or fewer of them',
      code: 'SEARCH_TOO_BROAD',
    });
    const narrow = await ask(ATTACKER_2, `${path}?search=res26`);
    assert.equal(narrow.status, 200);
    assert.equal((narrow.body as { total: number }).total, MARKETS);
  }
  const browsed = await ask(ATTACKER_2, '/v1/events/browse?search=number');
  assert.equal(browsed.status, 200, 'browse looks at names alone');
});
