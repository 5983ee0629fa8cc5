/** A program that ends before or after any of its durable steps and calls, for tests of how the next run goes on. */
import type Database from 'better-sqlite3';
import type { Rpc } from '../../shared/chain/rpc.ts';

export class Crash extends Error {}

export class Crashes {
  /** Durable steps and calls until the crash; each counts before and after. */
  stepsLeft = Number.POSITIVE_INFINITY;

  /** Wraps a database: a crash comes before or after a transaction. */
  around(db: Database.Database): Database.Database {
    const transaction = (change: () => unknown) => () => {
      this.#mayCrash();
      const result = db.transaction(change)();
      this.#mayCrash();
      return result;
    };
    return new Proxy(db, {
      get: (_, name) => {
        if (name === 'transaction') return transaction;
        const value = Reflect.get(db, name);
        return typeof value === 'function' ? value.bind(db) : value;
      },
    });
  }

  aroundCalls(rpc: Rpc): Rpc {
    return {
      call: async (method, params) => {
        this.#mayCrash();
        const answer = await rpc.call(method, params);
        this.#mayCrash();
        return answer;
      },
    };
  }

  #mayCrash(): void {
    if (--this.stepsLeft <= 0) throw new Crash();
  }
}
