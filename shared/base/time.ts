/** Times as text. */

/** A date and a time without a zone are in UTC; Date.parse would read them in the zone of the machine. */
export function withZone(text: string): string {
  return /(?:Z|[+-][0-9]{2}:[0-9]{2})$/.test(text) ? text : `${text}Z`;
}
