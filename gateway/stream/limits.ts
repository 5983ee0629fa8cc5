/** What the stream allows and how often it speaks (RULES.md 8.2). */
export const STREAM_PATH = '/v1/ws';

export const MAX_CONNECTIONS_PER_KEY = 5;
/** Anonymous ones. */
export const MAX_CONNECTIONS_PER_ADDRESS = 20;
export const MAX_MESSAGE_BYTES = 16_384;
export const MAX_MESSAGES_PER_SECOND = 20;

/** A consumer with more than this waiting for it is closed; it comes back with a snapshot. */
export const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** Replays and books wait while this much is on its way already. */
export const PACED_BUFFERED_BYTES = 256 * 1024;

export const PING_EVERY_MS = 30_000;
export const IDLE_CLOSE_MS = 60_000;
export const HEARTBEAT_EVERY_MS = 5000;

/** Codes of RFC 6455. */
export const CLOSE = { GOING_AWAY: 1001, POLICY: 1008, INTERNAL: 1011, TRY_AGAIN_LATER: 1013 } as const;
