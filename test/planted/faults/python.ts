/** Planted faults (faults.ts) of the Python client. */
import type { Fault } from './fault.ts';

const CAUGHT_BY = 'test/unit/python/client.test.ts';

export const PYTHON_FAULTS: readonly Fault[] = [
  {
    name: 'the Python client takes the page of a proxy for a refusal',
    file: 'shared/client/python/open_prediction_exchange/answers.py',
    search: 'if not isinstance(code, str) or code not in CODES or status not in STATUSES:',
    replace: 'if not isinstance(code, str) or code not in CODES:',
    caughtBy: CAUGHT_BY,
  },
  {
    name: 'the Python client forgets over a later answer that an order may have been placed',
    file: 'shared/client/python/open_prediction_exchange/logic/retry.py',
    search: 'raise doubt if doubt is not None and not _is_answer(failure) else failure',
    replace: 'raise failure',
    caughtBy: CAUGHT_BY,
  },
  {
    name: 'the Python client rounds an amount with many digits',
    file: 'shared/client/python/open_prediction_exchange/amounts.py',
    search: 'numerator, denominator = value.as_integer_ratio()',
    replace: 'numerator, denominator = (+value).as_integer_ratio()',
    caughtBy: CAUGHT_BY,
  },
  {
    name: 'a book of the Python client goes on over a gap',
    file: 'shared/client/python/open_prediction_exchange/stream/replica.py',
    search: 'if sequence != self.sequence + 1:',
    replace: 'if sequence < self.sequence:',
    caughtBy: CAUGHT_BY,
  },
  {
    name: 'half a frame leaves a book of the Python client that looks right',
    file: 'shared/client/python/open_prediction_exchange/stream/replica.py',
    search: '            self.forget()\n            raise',
    replace: '            raise',
    caughtBy: CAUGHT_BY,
  },
];
