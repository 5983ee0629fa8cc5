/** Options of a subscription that would be ignored are refused, with the member that they need (RULES.md 8.1, 8.10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRequest } from '../../../../gateway/stream/requests.ts';
import { ERRORS } from '../../../../shared/base/errors.ts';

const MARKET = '0190a6f0-7b1c-7abc-8def-0123456789ab';

const parse = (data: object) => parseRequest(Buffer.from(JSON.stringify({ channel: 'subscribe', id: 7, data })));

test('each option goes with its subscription, and alone it is refused', () => {
  const accepted: object[] = [
    { markets: [MARKET] },
    { markets: [MARKET], from_sequence: { [MARKET.toUpperCase()]: 3 } },
    { markets: [MARKET], cancel_on_disconnect: false },
    { user: true, user_since: 0 },
    { user: true, cancel_on_disconnect: true },
  ];
  for (const data of accepted) assert.equal(parse(data).ok, true, JSON.stringify(data));
  const refused: [data: object, field: string, needs: string][] = [
    [{ user: true, from_sequence: { [MARKET]: 3 } }, 'from_sequence', 'markets'],
    [{ markets: [MARKET], user_since: 0 }, 'user_since', 'user'],
    [{ markets: [MARKET], cancel_on_disconnect: true }, 'cancel_on_disconnect', 'user'],
    [{ markets: [MARKET], user: false, cancel_on_disconnect: true }, 'cancel_on_disconnect', 'user'],
  ];
  for (const [data, field, needs] of refused) {
    const details = { field: `data.${field}`, rule: `needs ${needs}` };
    const refusal = { row: ERRORS.VALIDATION_ERROR, message: `invalid ${field}`, details };
    assert.deepEqual(parse(data), { ok: false, id: 7, refusal }, JSON.stringify(data));
  }
});
