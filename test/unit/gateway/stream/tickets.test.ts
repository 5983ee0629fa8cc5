/** Tickets for sockets (RULES.md 15.7). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tickets } from '../../../../gateway/stream/tickets.ts';
import { SessionRig } from '../../../support/sessionRig.ts';

function open() {
  const rig = new SessionRig();
  const tickets = new Tickets({ find: (id, nowMs) => rig.sessions.find(id, nowMs)?.principal ?? null });
  return { rig, tickets, principal: rig.open().session.principal };
}

test('15.7: a ticket opens one socket, within 30 seconds, while its session lives', () => {
  const { rig, tickets, principal } = open();
  const [used, late, good, orphan] = [1, 2, 3, 4].map(() => tickets.issue(principal, rig.nowMs));
  assert.equal(tickets.redeem(used!, rig.nowMs), principal);
  assert.equal(tickets.redeem(used!, rig.nowMs), null);
  for (const text of ['', 'x', `${good}A`, good!.slice(1)]) assert.equal(tickets.redeem(text, rig.nowMs), null);
  rig.clock.advance(29_999);
  assert.equal(tickets.redeem(good!, rig.nowMs), principal);
  rig.clock.advance(1);
  assert.equal(tickets.redeem(late!, rig.nowMs), null);
  tickets.tick(rig.nowMs);
  assert.equal(tickets.count, 0, 'what is too old is forgotten');
  assert.equal(tickets.redeem(orphan!, rig.nowMs), null);
  const last = tickets.issue(principal, rig.nowMs);
  rig.sessions.end(principal.sessionId);
  assert.equal(tickets.redeem(last, rig.nowMs), null);
});

test('15.7: one ticket more than a session may have takes the place of its oldest, and of no other', () => {
  const { rig, tickets, principal } = open();
  const other = rig.open(rig.users[1]).session.principal;
  const foreign = tickets.issue(other, rig.nowMs);
  const issued = Array.from({ length: 9 }, () => tickets.issue(principal, rig.nowMs));
  assert.equal(tickets.count, 9);
  assert.equal(tickets.redeem(issued[0]!, rig.nowMs), null);
  for (const ticket of issued.slice(1)) assert.equal(tickets.redeem(ticket, rig.nowMs), principal);
  assert.equal(tickets.redeem(foreign, rig.nowMs), other);
});
