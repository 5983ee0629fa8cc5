import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusOf } from '../../../../../gateway/wiring/rehearsal/connection.ts';

/** The status of an incomplete answer. */
const INCOMPLETE = -1;

function answer(...lines: string[]): Buffer {
  return Buffer.from(lines.join('\r\n'));
}

describe('a lean connection', () => {
  it('takes an answer for whole when head and announced body are there, and at no byte before', () => {
    const answers: [number, Buffer][] = [
      [200, answer('HTTP/1.1 200 OK', 'Content-Type: application/json', 'Content-Length: 11', '', '{"a":"b\n"}')],
      [503, answer('HTTP/1.1 503 Service Unavailable', 'content-length: 2', 'Retry-After: 12', '', '{}')],
      [201, answer('HTTP/1.1 201 Created', 'CONTENT-LENGTH:3', '', '\r\n\r')],
      [204, answer('HTTP/1.1 204 No Content', 'X-Content-Length: 9', '', '')],
      [200, answer('HTTP/1.1 200 OK', 'Content-Length: 0', '', '')],
    ];
    for (const [status, bytes] of answers) {
      const text = bytes.toString();
      const body = text.slice(text.indexOf('\r\n\r\n') + 4);
      const announced = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
      const whole = Buffer.concat([bytes, Buffer.alloc(announced - body.length, ' ')]);
      for (let end = 0; end < whole.length; end++) {
        assert.equal(statusOf(whole.subarray(0, end)), INCOMPLETE, `${end} bytes of ${JSON.stringify(text)}`);
      }
      assert.equal(statusOf(whole), status, JSON.stringify(text));
    }
  });
});
