/** Faults in event sets. */
import type { Fault } from './fault.ts';

const SETS = 'test/unit/engine/core/eventSets.test.ts';

export const EVENT_SET_FAULTS: readonly Fault[] = [
  {
    name: 'a conversion pays for every chosen market of a set',
    file: 'shared/base/eventSets.ts',
    search: 'mulSafe(chosenCount - 1, amountAtomic)',
    replace: 'mulSafe(chosenCount, amountAtomic)',
    caughtBy: SETS,
  },
  {
    name: 'a conversion leaves the excess of its set as it was',
    file: 'engine/core/eventSets.ts',
    search: 'changeExcess(state, set, yesAtomic);',
    replace: '',
    caughtBy: SETS,
  },
  {
    name: 'an eliminated market takes part in conversions',
    file: 'engine/core/decisions.ts',
    search: 'market !== undefined && !isDecided(market.status));',
    replace: 'market !== undefined);',
    caughtBy: SETS,
  },
  {
    name: 'a set converts backwards while a market is locked',
    file: 'engine/core/eventSetRefusals.ts',
    search: '(isToUsdc && status === LOCKED)',
    replace: 'status === LOCKED',
    caughtBy: SETS,
  },
  {
    name: 'a member of a set is decided alone',
    file: 'engine/core/eventSetRefusals.ts',
    search: 'words[word + RESOLVE.status] !== RESOLVED || words[word + RESOLVE.payoutYesPpm] !== 0',
    replace: 'words[word + RESOLVE.status] !== RESOLVED',
    caughtBy: SETS,
  },
  {
    name: 'the last two markets of a set are eliminated one by one',
    file: 'engine/core/eventSetRefusals.ts',
    search: 'set.undecided.length > LEAST_MEMBERS ? OK',
    replace: 'set.undecided.length > 1 ? OK',
    caughtBy: SETS,
  },
  {
    name: 'a market takes over its part of the excess rounded down',
    file: 'shared/base/eventSets.ts',
    search: '{ micro: floor + 1, roundingPpm: PPM - rest }',
    replace: '{ micro: floor, roundingPpm: PPM - rest }',
    caughtBy: SETS,
  },
  {
    name: 'the rounding of a settled member goes to the fee account at once',
    file: 'engine/core/resolution.ts',
    search: 'market.set === null ? roundedOff : keepRounding(state, market.set, roundedOff)',
    replace: 'roundedOff',
    caughtBy: SETS,
  },
  {
    name: 'shards that are divided anew leave the excess of a set behind',
    file: 'engine/core/resharding.ts',
    search: 'markets.sets.get(set.first)!.excessMicro = set.excessMicro;',
    replace: '',
    caughtBy: 'test/unit/engine/core/resharding.test.ts',
  },
  {
    name: 'each market of a set lies in the shard of its own id',
    file: 'gateway/markets/catalog.ts',
    search: 'event?.details.winners === 1 ? event.id : id',
    replace: 'id',
    caughtBy: 'test/unit/gateway/markets/catalog.test.ts',
  },
  {
    name: 'the costs of a conversion are not those of what went',
    file: 'engine/projector/setCosts.ts',
    search: 'const carried = leaving - receivedMicro;',
    replace: 'const carried = leaving;',
    caughtBy: 'test/unit/engine/projector/stats.test.ts',
  },
  {
    name: 'a No that frees nothing is given for a Yes of the other markets',
    file: 'shared/base/eventSets.ts',
    search: 'Math.min(most - below, Math.max(0, yes[last] - ofOthers))',
    replace: 'most - below',
    caughtBy: 'test/unit/shared/base/eventSets.test.ts',
  },
  {
    name: 'a conversion under the key of zeros is carried out again after a crash',
    file: 'engine/projector/keys.ts',
    search: 'command + COMMAND.CONVERT_SET.fingerprint',
    replace: 'command + COMMAND.CONVERT_SET.key',
    caughtBy: 'test/api/idempotency.test.ts',
  },
  {
    name: 'a conversion is answered again without a market that was eliminated since',
    file: 'gateway/account/setConversionsRoutes.ts',
    search: ' || views.markets.resolvedMs(index) >= atMs',
    replace: ' || views.markets.resolvedMs(index) > Math.max(atMs, Number.MAX_VALUE)',
    caughtBy: 'test/api/idempotency.test.ts',
  },
  {
    name: 'of two payouts for one market the last counts',
    file: 'gateway/markets/adminEventSetsRoutes.ts',
    search: 'if (read.has(id)) return',
    replace: 'if (read.has(id) && read.size > markets.length) return',
    caughtBy: 'test/api/eventSets.test.ts',
  },
];
