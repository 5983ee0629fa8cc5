/** The settings of one provider, by the rest of their names. What is wrong with one is said without its value. */
import { ADDRESS_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { isSafeUrl } from '../base/providerSettings.ts';
import type { ProviderSettings } from './provider.ts';

/** The reason why settings are refused, beginning with the name of one. */
export class SettingRefused extends Error {
  override readonly name = 'SettingRefused';
}

type Names = readonly string[];

export class SettingReader {
  readonly #settings: ProviderSettings;

  /** @param known the names that the provider has: an unknown name is a mistake */
  constructor(settings: ProviderSettings, known: Names) {
    this.#settings = settings;
    const unknown = Object.keys(settings).find((name) => !known.includes(name));
    if (unknown !== undefined) throw new SettingRefused(`${unknown}: the provider has no such setting`);
  }

  text(name: string): string {
    const value = this.#settings[name];
    if (value === undefined) throw new SettingRefused(`${name}: the provider needs it`);
    return value;
  }

  list(name: string): string[] {
    const entries = this.#settings[name]?.split(',').map((entry) => entry.trim()) ?? [];
    if (entries.includes('')) throw new SettingRefused(`${name}: expected entries separated by commas`);
    return entries;
  }

  /** In lower case; null for one that is not set. */
  address(name: string): string | null {
    const value = this.#settings[name];
    if (value === undefined) return null;
    if (!tryParseHex(value, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES), 0)) {
      throw new SettingRefused(`${name}: expected 0x and 40 hex digits`);
    }
    return value.toLowerCase();
  }

  /** Without a slash at its end. */
  url(name: string, fallback?: string): URL {
    const value = this.#settings[name] ?? fallback ?? this.text(name);
    if (!URL.canParse(value) || !isSafeUrl(new URL(value))) {
      throw new SettingRefused(`${name}: expected https, or http on loopback`);
    }
    return new URL(value.replace(/\/+$/, ''));
  }
}
