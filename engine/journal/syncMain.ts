/** Entry point of a syncer thread (syncer.ts). Should it end by itself, the shard syncs its WAL alone. */
import { workerData } from 'node:worker_threads';
import type { HelperOptions } from './helperThread.ts';
import { keepSynced } from './syncer.ts';

keepSynced(workerData as HelperOptions);
