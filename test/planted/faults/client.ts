/** Planted faults (faults.ts) of the client as a package. */
import type { Fault } from './fault.ts';

export const CLIENT_FAULTS: readonly Fault[] = [
  {
    name: 'the declarations of the client have the sentences of all schemas',
    file: 'test/packages/build.ts',
    search: 'keep(path, withoutNotes)',
    replace: 'keep(path, (text) => text)',
    caughtBy: 'test/unit/packages.test.ts',
  },
  {
    name: 'a client asks for an address that the exchange of its last release does not have',
    file: 'shared/client/marketData.ts',
    search: 'segment(marketId)}/tick-size`',
    replace: 'segment(marketId)}/tick-size?exact=1`',
    caughtBy: 'test/api/versions.test.ts',
  },
];
