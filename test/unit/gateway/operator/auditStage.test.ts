import type { HttpResponse } from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOOTSTRAP } from '../../../../gateway/base/principal.ts';
import { Audited, noteBefore } from '../../../../gateway/http/audited.ts';
import { Call } from '../../../../gateway/http/call.ts';
import { HttpTransport } from '../../../../gateway/http/httpTransport.ts';
import { ok } from '../../../../gateway/http/respond.ts';
import { AuditStage } from '../../../../gateway/operator/auditStage.ts';
import type { AuditFields, AuditHead } from '../../../../shared/crypto/auditChain.ts';

/** A disk with room for this many records. */
class Rig {
  readonly records: AuditFields[] = [];
  readonly sent: { status: string; body: string }[] = [];
  readonly stage: AuditStage;
  room: number;
  isInForce = true;

  constructor(room: number) {
    this.room = room;
    this.stage = new AuditStage({ log: this, isInForce: () => this.isInForce });
  }

  append(fields: AuditFields): Promise<AuditHead> {
    if (this.room === 0) return Promise.reject(new Error('full'));
    this.room--;
    this.records.push(fields);
    return Promise.resolve({ sequence: this.records.length, hash: '' });
  }

  call(body: object): Call {
    let status = '200 OK';
    const response = {
      cork: (write: () => void) => write(),
      writeStatus: (line: string) => {
        status = line;
      },
      writeHeader: () => undefined,
      end: (text: string) => this.sent.push({ status, body: text }),
    } as unknown as HttpResponse;
    const longAnswers = { admits: () => true, continue: () => undefined, collect: () => undefined };
    const ignored = () => undefined;
    const unused = { role: undefined, isHttps: false, changes: null };
    const host = {
      onAnswered: ignored,
      abort: ignored,
      nextRequestId: () => '0123456789abcdef',
      longAnswers,
      ...unused,
    };
    const call = new Call(new HttpTransport(response), 'POST', '/admin/users', null, 0, host);
    call.audited = new Audited('192.0.2.1');
    call.body = body;
    return call;
  }
}

/** Lets started work finish. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('without room for the attempt nothing is done, and the answer says so', async () => {
  const rig = new Rig(0);
  assert.equal(await rig.stage.admit(rig.call({}), BOOTSTRAP), false);
  assert.equal(rig.sent[0]!.status, '503 Service Unavailable');
  assert.match(rig.sent[0]!.body, /ENGINE_BUSY/);
});

test('without room for the result the answer is that the outcome is unknown', async () => {
  const rig = new Rig(1);
  const call = rig.call({});
  assert.equal(await rig.stage.admit(call, BOOTSTRAP), true);
  ok(call, { id: 'made' }, 201);
  await settled();
  assert.match(rig.sent[0]!.body, /OUTCOME_UNKNOWN/);
});

test('no answer leaves before its record is there', async () => {
  const rig = new Rig(2);
  const call = rig.call({});
  await rig.stage.admit(call, BOOTSTRAP);
  ok(call, { id: 'made' }, 201);
  assert.deepEqual(rig.sent, []);
  await settled();
  assert.equal(rig.records.length, 2);
  assert.deepEqual(rig.sent, [{ status: '201 Created', body: '{"id":"made"}' }]);
});

test('secrets are hidden at any depth, in requests and in answers', async () => {
  const rig = new Rig(2);
  const call = rig.call({ keys: [{ secret: 'one', id: 1 }], token: 'two' });
  await rig.stage.admit(call, BOOTSTRAP);
  noteBefore(call, { passphrase: 'three', name: 'old' });
  ok(call, { passphrase: 'four', name: 'new', inner: { token: 'five' } });
  await settled();
  const text = JSON.stringify(rig.records);
  for (const secret of ['one', 'two', 'three', 'four', 'five']) assert.ok(!text.includes(`"${secret}"`), secret);
  assert.deepEqual(
    [rig.records[1]!['before'], rig.records[1]!['after']],
    [{ name: 'old' }, { name: 'new', inner: { token: '[secret]' } }],
  );
});

test('an operator who was revoked while the attempt was written is refused', async () => {
  const rig = new Rig(2);
  rig.isInForce = false;
  assert.equal(await rig.stage.admit(rig.call({}), BOOTSTRAP), false);
  await settled();
  assert.match(rig.sent[0]!.body, /invalid admin token/);
  assert.equal(rig.records[1]!['status'], 401);
});
