/**
 * A data directory settles on a chain from its first start on, or never (RULES.md 17.2). Settlement needs every journal
 * from its first record on, and what was traded without it has no counterpart on the chain.
 */
import { type Config, ConfigError } from '../process/config.ts';
import type { Platform } from './platform.ts';

const SETTLES = 'settles_on_chain';

/** Throws ConfigError when the settings want the other of the two. */
export function requireSettlementMode({ chain }: Pick<Config, 'chain'>, platform: Platform): void {
  const settles = platform.read(SETTLES) === 'yes';
  if (settles && chain === null) {
    throw new ConfigError('RPC_URL: this data directory settles on a chain, and cannot go on without one');
  }
  if (settles || chain === null) return;
  if (platform.hasJournals) {
    throw new ConfigError('RPC_URL: this data directory was started without a chain; a chain needs a new one');
  }
  platform.write(SETTLES, 'yes');
}
