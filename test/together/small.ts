/** Small tests: of the code as a whole, the documents, and the tools around the tests (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('small');
