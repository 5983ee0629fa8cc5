/**
 * The keeper of the funds of servers under test. Usually that is the exchange itself; with `BACKEND=chain` every server
 * settles on a local chain, and the same tests of the API say the same about it (`npm run test:chain`).
 */
const NAMES = ['ledger', 'chain'] as const;
const name = process.env['BACKEND'] ?? 'ledger';
if (!NAMES.includes(name as never)) throw new Error(`BACKEND is one of ${NAMES.join(', ')}, and not '${name}'`);

export const isOnChain = name === 'chain';
/** Null if the exchange keeps the funds itself. The code for a chain is loaded only with a chain. */
export const backend = isOnChain ? (await import('./chainBackend.ts')).chainBackend : null;

/** The options of a test that is about a ledger without a chain; the reason is shown where it is skipped. */
export function onLedgerOnly(reason: string): { readonly skip: string | false } {
  return { skip: isOnChain && reason };
}
