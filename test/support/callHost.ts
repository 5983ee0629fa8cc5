/** Stands for the pipeline when a test calls a handler without a server. */
import assert from 'node:assert/strict';
import type { CallHost, HeldChanges } from '../../gateway/http/call.ts';
import { LongAnswers } from '../../gateway/http/longAnswers.ts';
import { TurnTimes } from '../../gateway/http/turnTimes.ts';

export function callHost(onAnswered: () => void = () => undefined, changes: HeldChanges | null = null): CallHost {
  const longAnswers = new LongAnswers(new TurnTimes(), (error) => assert.fail(error as Error));
  const nextRequestId = () => '0123456789abcdef';
  return { onAnswered, abort: onAnswered, nextRequestId, longAnswers, role: undefined, isHttps: false, changes };
}
