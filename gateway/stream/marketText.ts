/** Frames are ASCII, so their bytes are their characters. */

/** Escapes every non-ASCII character of the JSON: answers repeat text that a client has sent. */
export function asciiText(json: string): string {
  return json.replace(/[\u007f-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
