/**
 * The phase of the exchange between its start and its end. The parts read it; only exchange.ts changes it. A standby of
 * a cluster answers reads.
 */
export class Lifecycle {
  phase: 'starting' | 'standby' | 'ready' = 'starting';
  /** True if the exchange is about to end. Requests on open connections are answered until the server closes them. */
  isDraining = false;

  /** True while requests are answered. */
  get isReady(): boolean {
    return this.phase === 'ready' || this.phase === 'standby';
  }

  /** True while requests are carried out. */
  get isServing(): boolean {
    return this.phase === 'ready';
  }
}
