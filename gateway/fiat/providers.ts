/** The table of providers: a new one is a file in this folder and a row here (RULES.md 16.2). */
import { ConfigError } from '../base/config.ts';
import type { FiatConfig } from '../base/fiatSettings.ts';
import { openCoinbase } from './coinbase.ts';
import type { FiatProvider, OpenProvider } from './provider.ts';
import { openSandbox } from './sandbox.ts';

const PROVIDERS: Readonly<Record<string, OpenProvider>> = {
  coinbase: (settings) => openCoinbase(settings),
  sandbox: (settings) => openSandbox(settings),
};

/** Those that the settings open, by name, the preferred one first. */
export function openProviders(
  { providers }: Pick<FiatConfig, 'providers'>,
  table: Readonly<Record<string, OpenProvider>> = PROVIDERS,
): ReadonlyMap<string, FiatProvider> {
  return new Map(
    providers.map(({ name, settings }) => {
      const open = Object.hasOwn(table, name) ? table[name] : undefined;
      if (open === undefined) throw new ConfigError(`FIAT_PROVIDERS: there is no provider ${name}`);
      const provider = open(settings);
      if (typeof provider === 'string') throw new ConfigError(`FIAT_${name.toUpperCase()}_${provider}`);
      return [name, provider];
    }),
  );
}
