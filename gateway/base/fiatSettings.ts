/**
 * The settings of the providers that turn bank money into USDC and back (RULES.md 16.2). The file of each provider in
 * gateway/fiat/ knows which settings it needs; this file only collects them. Values may be secrets.
 */

export type FiatConfig = Readonly<{
  /** The open providers, in the order of FIAT_PROVIDERS: the first is used if a request names none. */
  providers: readonly FiatProviderConfig[];
  /** Time between two blocks of the ledger rail. */
  blockMs: number;
}>;

/** `FIAT_SANDBOX_URL` is the setting `URL` of the provider `sandbox`. */
type FiatProviderConfig = Readonly<{ name: string; settings: Readonly<Record<string, string>> }>;

type Reader = {
  readonly names: readonly string[];
  text(name: string, fallback: string): string;
  integer(name: string, fallback: number, min: number, max: number): number;
  list(name: string): string[];
};

/** Settings of all providers together; every other setting that begins with FIAT_ belongs to one provider. */
const SHARED = ['FIAT_PROVIDERS', 'FIAT_BLOCK_MS'];
const PROVIDER_SETTING = /^FIAT_([A-Z0-9]{1,30})_([A-Z0-9_]{1,60})$/;
const PROVIDER_NAME = /^[a-z0-9]{1,30}$/;

/** @returns a text that says why the settings are refused, or the settings. */
export function readFiat(read: Reader): FiatConfig | string {
  const names = read.list('FIAT_PROVIDERS');
  if (new Set(names).size < names.length || !names.every((name) => PROVIDER_NAME.test(name))) {
    return 'FIAT_PROVIDERS: expected names of providers separated by commas, each once';
  }
  const settings = new Map<string, Record<string, string>>();
  for (const variable of read.names) {
    const [, provider, name] = SHARED.includes(variable) ? [] : (PROVIDER_SETTING.exec(variable) ?? []);
    const value = name === undefined ? '' : read.text(variable, '');
    if (value === '') continue;
    const known = settings.get(provider.toLowerCase()) ?? {};
    settings.set(provider.toLowerCase(), { ...known, [name]: value });
  }
  return Object.freeze({
    providers: Object.freeze(names.map((name) => Object.freeze({ name, settings: settings.get(name) ?? {} }))),
    blockMs: read.integer('FIAT_BLOCK_MS', 1000, 1, 60_000),
  });
}
