/** Stands for the pipeline when a test calls a handler without a server. */
import assert from 'node:assert/strict';
import type { CallHost } from '../../gateway/http/call.ts';
import { LongAnswers } from '../../gateway/http/longAnswers.ts';
import { TurnTimes } from '../../gateway/http/turnTimes.ts';

export function callHost(onAnswered: () => void = () => undefined): CallHost {
  const longAnswers = new LongAnswers(new TurnTimes(), (error) => assert.fail(error as Error));
  return { onAnswered, abort: onAnswered, nextRequestId: () => '0123456789abcdef', longAnswers, role: undefined };
}
