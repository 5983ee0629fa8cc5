/**
 * The typed client of the exchange, imported as `open-prediction-exchange/client`. Browsers get browser.ts, by the
 * conditions of package.json.
 */
export { createKeccak } from '../crypto/fastKeccak.ts';
export * from './browser.ts';
