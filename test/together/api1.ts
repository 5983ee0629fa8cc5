/** API tests that share a server (support/together.ts): one with front threads, which has to answer like any other. */
import { runOneAfterTheOther } from '../support/together.ts';

process.env['GATEWAYS'] ??= '3';
await runOneAfterTheOther('api1');
