/** Thread entry of a shard's checkpointer (checkpointer.ts). It may die at any moment: every page is in the WAL. */
import { workerData } from 'node:worker_threads';
import { type CheckpointOptions, keepCheckpointed } from './checkpointer.ts';

keepCheckpointed(workerData as CheckpointOptions);
