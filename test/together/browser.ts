/** The tests of the cash page and of the client in a browser (support/together.ts). */
import { runOneAfterTheOther } from '../support/together.ts';

await runOneAfterTheOther('browser');
