/**
 * The limits of requests about orders (RULES.md 8.14, 8.16), which count towards the limits of their routes, not as
 * messages.
 */
export const MAX_ORDER_MESSAGE_BYTES = 65_536;
export const MAX_ORDERS_IN_FLIGHT = 1024;
