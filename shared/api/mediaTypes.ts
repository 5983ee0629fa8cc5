/** A media type by itself: the client does not bring schemas along for it. */

/** The type of a body of lines, each a JSON object. */
export const NDJSON = 'application/x-ndjson';
