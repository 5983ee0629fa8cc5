/** The steps of `pmx doctor`: each looks at one thing, and says what to do where it is wrong. */
import type { Profile } from '../../types.ts';
import type { Context } from '../frame/context.ts';

/** `skip`: an earlier fault leaves nothing to look at. Only `fail` makes the exit code that of a refusal. */
export type Finding = {
  readonly check: string;
  readonly state: 'ok' | 'warn' | 'fail' | 'skip';
  readonly message: string;
  readonly advice?: string;
};

/** The steps leave here what those after them need. */
export type Patient = {
  readonly context: Context;
  isReached: boolean;
  profile: Profile | null;
  scopes: readonly string[];
  /** The wallet that pays, where the one that signs is its delegate. */
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
