/** The rights of a connection, which follow from the key or the session that opened it (RULES.md 8.1 and 8.2). */
import { ERRORS, type ErrorRow } from '../../shared/base/errors.ts';
import { credentialOf } from '../access/credentialOf.ts';
import type { AccountPrincipal } from '../base/principal.ts';
import type { Refusal } from '../base/refusal.ts';
import { SCOPE } from '../base/scopes.ts';
import { CHANNEL_NAMES } from './channelFrames.ts';
import type { Connection } from './connection.ts';
import { MAX_CONNECTIONS_PER_ADDRESS } from './limits.ts';
import type { SubscribeData } from './requests.ts';

/** The most connections of one owner. */
export function mostOf(principal: AccountPrincipal | null): number {
  return principal === null ? MAX_CONNECTIONS_PER_ADDRESS : credentialOf(principal).mostSockets;
}

/** Without credentials only the public channels are allowed; with them, the channels of their scopes. */
export function notAllowed({ principal }: Connection, data: SubscribeData): Refusal | null {
  if (data.user === true && principal === null) return { row: ERRORS.MISSING_API_KEY_HEADERS };
  if (principal === null) return null;
  const isOfMarkets = (data.markets ?? []).length > 0 || CHANNEL_NAMES.some((name) => data[name] !== undefined);
  const lacksMarket = isOfMarkets && (principal.scopes & SCOPE['stream:market']) === 0;
  const lacksUser = data.user === true && (principal.scopes & SCOPE['stream:user']) === 0;
  const row: ErrorRow = ERRORS.INSUFFICIENT_SCOPE;
  return lacksMarket || lacksUser ? { row } : null;
}
