/** API tests that share a server (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('api1');
