/** API tests that share a server on a chain (support/together.ts): there a process waits for blocks most of the time. */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('api3');
