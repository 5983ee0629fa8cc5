/**
 * Entry point of a checkpointer thread (checkpointer.ts). It may end at any moment, because every page is still in the
 * WAL.
 */
import { workerData } from 'node:worker_threads';
import { keepCheckpointed } from './checkpointer.ts';

await keepCheckpointed(workerData);
