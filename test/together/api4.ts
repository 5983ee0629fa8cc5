/** API tests that share a server on a chain (support/together.ts), where a process mostly waits for blocks. */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('api4');
