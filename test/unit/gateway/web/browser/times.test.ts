import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clockTime, formatOf, localeOf } from '../../../../../gateway/web/browser/times.ts';

test('a time is in the language, calendar and digits of the page, wherever its visitor comes from', () => {
  const moment = Date.UTC(2026, 10, 29, 22, 38);
  const shown = (languages: string[]): string => {
    const locale = localeOf(languages);
    return formatOf({ dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }, locale).format(moment);
  };
  for (const language of ['th-TH', 'ar-EG', 'fa-IR', 'en-u-ca-buddhist-nu-thai', 'de-DE']) {
    assert.match(shown([language]), /^Nov 29, 2026, 10:38\sPM$/, language);
  }
  assert.match(shown(['de-DE', 'en-GB']), /^29 Nov 2026, 22:38$/, 'a visitor who reads English as in Britain');
  assert.match(shown([]), /2026/);
});

test('a time of another day is shown with its day', () => {
  const now = new Date(2026, 10, 29, 12).getTime();
  assert.match(clockTime(new Date(2026, 10, 29, 9, 5, 7).getTime(), now), /^09:05:07$/);
  assert.match(clockTime(new Date(2026, 10, 23, 21, 30).getTime(), now), /Nov.*23.*21:30$|23.*Nov.*21:30$/);
});
