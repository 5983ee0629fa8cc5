/** The outcome of a command of a witness, as its client sees it. */
import { ApiError } from '../../shared/client/http.ts';

/**
 * `gone`: the connection was broken. `late`: there was no answer in time. `unknown`: the server says that it does not
 * know.
 */
export type Outcome = 'answered' | 'unknown' | 'late' | 'gone';

export async function told<T>(
  sending: Promise<T>,
  onDone: (answer: T) => void,
  onRefused: (error: ApiError) => void,
): Promise<Outcome> {
  let answer: T;
  try {
    answer = await sending;
  } catch (error) {
    if (!(error instanceof ApiError)) return (error as Error).name === 'TimeoutError' ? 'late' : 'gone';
    if (error.code === 'OUTCOME_UNKNOWN') return 'unknown';
    onRefused(error);
    return 'answered';
  }
  onDone(answer);
  return 'answered';
}
