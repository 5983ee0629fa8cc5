/** The phase of the exchange between its start and its end. The parts read it; exchange.ts alone changes it. */
export class Lifecycle {
  phase: 'starting' | 'ready' | 'draining' = 'starting';

  get isReady(): boolean {
    return this.phase === 'ready';
  }

  get isDraining(): boolean {
    return this.phase === 'draining';
  }
}
