/** Writes the documents that follow from the code (npm run docs). */
import { writeFileSync } from 'node:fs';
import { errorsPage } from '../../gateway/docs/errorsPage.ts';

writeFileSync(new URL('../../data/docs/errors.md', import.meta.url), errorsPage());
