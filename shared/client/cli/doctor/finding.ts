/** The steps of `pmx doctor`: each examines one thing, and says what to do if it is wrong. */
import type { Profile } from '../../types.ts';
import type { Context } from '../frame/context.ts';

/** `skip`: because of an earlier fault there is nothing to examine. Only `fail` sets the exit code of a refusal. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warn' | 'fail' | 'skip';
  readonly message: string;
  readonly advice?: string;
};

/** Steps store here the results that later steps need. */
export type Patient = {
  readonly context: Context;
  isReached: boolean;
  profile: Profile | null;
  scopes: readonly string[];
  /** The wallet that pays, if the signer is its delegate. */
  maker: string | undefined;
  /** A market that trades, for the steps that need one. */
  marketId: string | null;
};

export type Step = (patient: Patient) => Promise<Finding | readonly Finding[]>;

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message };
}

export function warn(check: string, message: string, advice: string): Finding {
  return { check, state: 'warn', message, advice };
}

export function fail(check: string, message: string, advice: string): Finding {
  return { check, state: 'fail', message, advice };
}

export function skip(check: string, message: string): Finding {
  return { check, state: 'skip', message };
}
