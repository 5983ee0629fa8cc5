import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serversOf } from '../../../../engine/replication/connection.ts';

describe('the URL of the replicated log', () => {
  it('names several servers, which share the user, the database and the options', () => {
    assert.deepEqual(serversOf('postgres://user:p%40ss@one:5432,two/log?sslmode=require'), [
      'postgres://user:p%40ss@one:5432/log?sslmode=require',
      'postgres://user:p%40ss@two/log?sslmode=require',
    ]);
    assert.deepEqual(serversOf('postgresql://one/log'), ['postgresql://one/log']);
  });

  it('is one of PostgreSQL', () => {
    assert.throws(() => serversOf('redis://one/log'), /starts with postgres:/);
  });
});
