/**
 * Sets the number of V8's helper threads for scavenges, which make room for new objects. V8 shares each scavenge among
 * them, which pays if processors are free. Here there is little to move: a millisecond of work on the gateway's thread,
 * less on a shard's. On one or two processors, which orders keep busy, the thread mostly waits until its helpers have
 * woken up.
 */
import { setFlagsFromString } from 'node:v8';

/** Machines with more processors can spare some for helpers. */
const FEW_PROCESSORS = 2;

/** Sets it for all threads of the process, from their next scavenge on. */
export function setScavenges(processors: number): void {
  if (processors <= FEW_PROCESSORS) setFlagsFromString('--no-parallel-scavenge');
}
