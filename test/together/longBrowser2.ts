/** Half of the tests of the page, the documents and the operations page, in one browser (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('longBrowser2');
