/** The thread of a member that cannot open its log tries again, with servers that do what the test says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startMember } from '../../../support/clusterMember.ts';
import { eventually } from '../../../support/eventually.ts';
import { ScriptedPostgres } from '../../../support/scriptedPostgres.ts';

const ATTEMPTS = 3;
/** Connections of one log: one to write and one to read. */
const CONNECTIONS = 2;

test('an attempt to open the log that fails leaves no connections behind', async (t) => {
  const postgres = await ScriptedPostgres.start(t);
  let isReadable = false;
  let refused = 0;
  postgres.answer = (name) => {
    if (name === 'fact') return { rows: [{ value: '2' }] };
    if (name === 'formats') return { rows: [{ holder: '', formats: '', raised: '' }] };
    if (name === 'ends' && !isReadable) {
      refused++;
      return { error: 'the relation is locked' };
    }
    return {};
  };
  const member = startMember(t, `postgres://exchange@${postgres.host}/log`, 'a');
  const failed = (): number => member.messages.filter((message) => 'unreachable' in message).length;
  await eventually('attempts that fail', async () => failed() >= ATTEMPTS);
  isReadable = true;
  await eventually('a log that is open', async () => member.messages.some((message) => 'opened' in message));
  assert.equal(failed(), refused);
  const what = (): string => `${CONNECTIONS} connections, of ${postgres.connections} that are open`;
  await eventually(what, async () => postgres.connections === CONNECTIONS);
});
