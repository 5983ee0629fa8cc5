/**
 * Preloaded into a member, and by NODE_OPTIONS into each of its threads: what the log holds is noted nowhere, as if
 * there were no marks. For the bench that measures what marks cost, and for nothing else: such a member could not be
 * started again as it should.
 */
import { HeldMark } from '../engine/replication/heldMark.ts';

HeldMark.prototype.hold = () => {};
HeldMark.prototype.sync = async () => {};
