/** All planted faults, by area. */
import { ACCOUNT_FAULTS } from './faults/accounts.ts';
import { ALERT_FAULTS } from './faults/alerts.ts';
import { BACKUP_FAULTS } from './faults/backup.ts';
import { CLIENT_FAULTS } from './faults/client.ts';
import { CLUSTER_FAULTS } from './faults/cluster.ts';
import { EVENT_SET_FAULTS } from './faults/eventSets.ts';
import type { Fault } from './faults/fault.ts';
import { HISTORY_FAULTS } from './faults/history.ts';
import { MARKET_FAULTS } from './faults/markets.ts';
import { MATCHING_FAULTS } from './faults/matching.ts';
import { PYTHON_FAULTS } from './faults/python.ts';
import { REQUEST_FAULTS } from './faults/requests.ts';
import { SETTLEMENT_FAULTS } from './faults/settlement.ts';
import { SHARD_FAULTS } from './faults/shards.ts';
import { STREAM_FAULTS } from './faults/streams.ts';
import { VERIFICATION_FAULTS } from './faults/verification.ts';

export const FAULTS: readonly Fault[] = [
  ...CLIENT_FAULTS,
  ...CLUSTER_FAULTS,
  ...MATCHING_FAULTS,
  ...MARKET_FAULTS,
  ...EVENT_SET_FAULTS,
  ...SHARD_FAULTS,
  ...VERIFICATION_FAULTS,
  ...SETTLEMENT_FAULTS,
  ...HISTORY_FAULTS,
  ...REQUEST_FAULTS,
  ...ACCOUNT_FAULTS,
  ...STREAM_FAULTS,
  ...ALERT_FAULTS,
  ...BACKUP_FAULTS,
  ...PYTHON_FAULTS,
];
