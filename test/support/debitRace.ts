/** A shard's side of a race for money: in every round all workers want the same last cents. Runs as a worker. */
import { isMainThread, workerData } from 'node:worker_threads';
import { Balances } from '../../shared/wire/balances.ts';

export type Race = {
  balances: SharedArrayBuffer;
  /** Per round: how many workers have come to its start, and how many got the money. */
  gates: SharedArrayBuffer;
  wins: SharedArrayBuffer;
  workers: number;
  shard: number;
  rounds: number;
  micro: number;
};

const LOOKS = 300;

/** Many parts of the memory are used. */
export const accountOf = (round: number): number => round * 37;

/** Lets everybody go at once; spins a little, so that they really meet. */
function meet(gates: Int32Array, round: number, workers: number): void {
  const came = Atomics.add(gates, round, 1) + 1;
  if (came === workers) {
    Atomics.notify(gates, round);
    return;
  }
  for (let look = 0; look < LOOKS; look++) if (Atomics.load(gates, round) === workers) return;
  for (let seen = came; seen < workers; seen = Atomics.load(gates, round)) Atomics.wait(gates, round, seen, 100);
}

if (!isMainThread) {
  const race = workerData as Race;
  const balances = new Balances(race.balances, race.shard);
  const gates = new Int32Array(race.gates);
  const wins = new Int32Array(race.wins);
  for (let round = 0; round < race.rounds; round++) {
    meet(gates, round, race.workers);
    if (balances.tryDebit(accountOf(round), race.micro)) Atomics.add(wins, round, 1);
    // All make the memory longer at the same time.
    balances.availableMicro(accountOf(race.rounds) + round * 997);
  }
}
