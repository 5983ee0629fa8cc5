/** The limits of the stream, and its intervals (RULES.md 8.2). */
export const STREAM_PATH = '/v1/ws';

/** The limit for anonymous connections. */
export const MAX_CONNECTIONS_PER_ADDRESS = 20;
export const MAX_MESSAGE_BYTES = 16_384;
export const MAX_MESSAGES_PER_SECOND = 20;

/** A connection for which more than this waits is closed; its client reconnects and receives a snapshot. */
export const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** Replays and books pause while more than this waits for the client. */
export const PACED_BUFFERED_BYTES = 256 * 1024;

export const PING_EVERY_MS = 10_000;
export const IDLE_CLOSE_MS = 60_000;
export const HEARTBEAT_EVERY_MS = 5000;

/** Codes of RFC 6455. */
export const CLOSE = { GOING_AWAY: 1001, POLICY: 1008, INTERNAL: 1011, TRY_AGAIN_LATER: 1013 } as const;
