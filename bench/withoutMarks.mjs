/**
 * Preloaded into a member, and by NODE_OPTIONS into each of its threads: no marks of held rows are written, as if there
 * were none. Only for the bench that measures the cost of marks: such a member could not be started again properly.
 */
import { HeldMark } from '../engine/replication/heldMark.ts';

HeldMark.prototype.hold = () => {};
HeldMark.prototype.sync = async () => {};
