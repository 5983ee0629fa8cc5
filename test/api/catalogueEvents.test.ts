/** Events over HTTP on a real server: their slugs, their markets and the lists in which they are shown. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { catalogueOf, titles } from '../support/catalogue.ts';
import { type Json, sharedServer } from '../support/server.ts';

const NOBODY = '00000000-0000-4000-8000-000000000000';

const server = await sharedServer();
const { create, refusal, get } = catalogueOf(server);

describe('events', () => {
  test('a new event has every documented field, its slug made from the title', async () => {
    const { status, body } = await server.adminRequest('POST', '/admin/events', { title: 'Who wins, really?' });
    assert.equal(status, 201);
    const { id, created_at, updated_at, start_time, ...rest } = body;
    assert.deepEqual(rest, {
      slug: 'who-wins-really',
      title: 'Who wins, really?',
      description: '',
      status: 'upcoming',
      category: 'Other',
      sport_league: null,
      sport_teams: null,
      image_url: null,
      external_event_id: '',
      external_platform: 'native',
      external_event_subtitle: null,
      external_event_mutually_exclusive: false,
      winners: null,
      market_count: 0,
    });
    assert.equal(created_at, updated_at);
    assert.ok(id !== '' && start_time !== '');
  });

  test('a slug is given once', async () => {
    await server.admin.createEvent({ slug: 'taken', title: 'One' });
    const conflict = [409, 'CONFLICT', 'slug is used by another event'];
    assert.deepEqual(await refusal('POST', '/admin/events', { title: 'Taken' }), conflict);
    assert.deepEqual(await refusal('POST', '/admin/events', { slug: 'taken', title: 'Two' }), conflict);
  });

  test('a title in any script makes a slug of plain letters, or else a short one from the id', async () => {
    for (const [title, slug] of [
      ['São Paulo vs. Grêmio', 'sao-paulo-vs-gremio'],
      ['Łódź – Gdańsk', 'lodz-gdansk'],
      ['Straße', 'strasse'],
      ['Ødegaard & Đoković in Kadıköy', 'odegaard-dokovic-in-kadikoy'],
      ['Trump’s U.S. poll: over 100,000?', 'trumps-us-poll-over-100000'],
      ['Æsir, Œuvre, Þór, Eyðis', 'aesir-oeuvre-thor-eydis'],
    ]) {
      assert.equal((await server.admin.createEvent({ title })).slug, slug);
    }
    for (const title of ['Кто победит?', '東京の雨', '🎾🎾', '???', 'Browse!']) {
      const event = await server.admin.createEvent({ title });
      assert.equal(event.slug, `event-${event.id.slice(-12)}`);
      const { status } = await server.request('GET', `/v1/events/${event.slug}`);
      assert.equal(status, 200);
    }
    const again = await server.admin.createEvent({ title: '🎾🎾' });
    assert.match(again.slug, /^event-[0-9a-f]{12}$/, 'another event of the same title is no conflict');
  });

  const malformed: [string, Record<string, unknown>, string][] = [
    ['no title', {}, 'missing field: title'],
    ['a slug with a space', { title: 'x', slug: 'a b' }, 'invalid slug'],
    ['the path of a list as its slug', { title: 'x', slug: 'browse' }, 'invalid slug'],
    ['an unknown status', { title: 'x', status: 'over' }, 'invalid status'],
    ['a start that is no timestamp', { title: 'x', start_time: 'now' }, 'invalid start_time'],
    ['an unknown field', { title: 'x', colour: 'red' }, 'unknown field: colour'],
  ];
  for (const [what, body, message] of malformed) {
    test(`an event with ${what} is refused`, async () => {
      assert.deepEqual(await refusal('POST', '/admin/events', body), [400, 'VALIDATION_ERROR', message]);
    });
  }

  test('a change shows in the event; an unknown event is 404', async () => {
    const { id } = await server.admin.createEvent({ slug: 'changing', title: 'Before' });
    const change = { title: 'After', status: 'live', sport_teams: ['A', 'B'] };
    const { body } = await server.adminRequest('PATCH', `/admin/events/${id}`, change);
    assert.deepEqual([body.title, body.status, body.sport_teams, body.slug], ['After', 'live', ['A', 'B'], 'changing']);
    assert.ok(body.updated_at > body.created_at);
    const unknown = await refusal('PATCH', `/admin/events/${NOBODY}`, change);
    assert.deepEqual(unknown, [404, 'NOT_FOUND', 'event not found']);
  });

  test('an event lists all its markets in the order of creation, drafts too', async () => {
    const event = await server.admin.createEvent({ slug: 'full', title: 'Full' });
    const first = await create({ event_id: event.id.toUpperCase(), title: 'one', status: 'draft' });
    const second = await create({ title: 'two' });
    // In upper case it is the same id.
    await server.adminRequest('PATCH', `/admin/markets/${second.id}`, { event_id: event.id.toUpperCase() });
    assert.deepEqual(await get('/v1/events/full'), {
      slug: 'full',
      title: 'Full',
      status: 'upcoming',
      markets: [
        { id: first.id, title: 'one', status: 'draft', outcomes: ['Yes', 'No'] },
        { id: second.id, title: 'two', status: 'active', outcomes: ['Yes', 'No'] },
      ],
      created_at: event.created_at,
    });
    assert.deepEqual(await get(`/v1/events/${event.id}`), await get('/v1/events/full'));
    assert.equal((await get(`/v1/events/${event.id}/view`)).slug, 'full');
    const named = await server.admin.createEvent({ slug: event.id, title: 'Named like the id of another' });
    assert.equal((await get(`/v1/events/${event.id}`)).title, named.title);
    const { events } = await get('/v1/events?search=FULL');
    assert.equal(events[0].market_count, 2);
    await server.adminRequest('PATCH', `/admin/markets/${second.id}`, { event_id: null });
    assert.equal((await get('/v1/events/full')).markets.length, 1);
    assert.equal((await server.request('GET', '/v1/events/nothing')).status, 404);
  });

  test('events are listed newest first and filtered', async () => {
    const category = `events ${randomUUID()}`;
    for (const [slug, status] of [
      ['list-a', 'upcoming'],
      ['list-b', 'live'],
      ['list-c', 'live'],
    ] as const) {
      await server.admin.createEvent({ slug, title: slug, status, category });
    }
    const list = async (query: Record<string, string>): Promise<Json> =>
      get(`/v1/events?${new URLSearchParams({ category, ...query })}`);
    assert.deepEqual(titles((await list({})).events), ['list-c', 'list-b', 'list-a']);
    assert.deepEqual(titles((await list({ status: 'live', limit: '1', offset: '1' })).events), ['list-b']);
    assert.deepEqual(titles((await list({ search: 'LIST (a)' })).events), ['list-a']);
  });
});
