/**
 * The message that a wallet signs (EIP-4361): writes it, and parses the signed one. Parsing is strict, line by line: a
 * text that deviates from the standard's form, or says more than the exchange checks, is refused. Libraries for this
 * leave most checks to their caller and bring ten times the code.
 */
import { ADDRESS_BYTES, tryParseHex } from '../../shared/base/hex.ts';
import { checksumAddress } from '../../shared/crypto/checksumAddress.ts';

export type SignInMessage = {
  /** The host of the page that asks for the signature. */
  readonly domain: string;
  /** 0x and 40 lowercase hex digits; the text has the address with its checksum. */
  readonly address: string;
  readonly statement: string | null;
  readonly uri: string;
  readonly chainId: number;
  readonly nonce: string;
  readonly issuedMs: number;
  /** Null if the message itself never expires. */
  readonly expiresMs: number | null;
  readonly notBeforeMs: number | null;
};

const MAX_CHARACTERS = 2000;
const VERSION = '1';
const TIME_FORM = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
const EXTRAS = '(?:\\nExpiration Time: (?<expires>[^\\s]+))?(?:\\nNot Before: (?<notBefore>[^\\s]+))?$';
const FORM = new RegExp(
  [
    '^(?:(?<scheme>[a-z][a-z0-9+.-]*)://)?(?<domain>[^\\s/?#@]+) wants you to sign in with your Ethereum account:',
    '(?<address>0x[0-9a-fA-F]{40})',
    '(?:\\n(?<statement>[^\\n]+))?\\n',
    'URI: (?<uri>[^\\s]+)',
    `Version: ${VERSION}`,
    'Chain ID: (?<chainId>[1-9][0-9]{0,15})',
    'Nonce: (?<nonce>[a-zA-Z0-9]{8,200})',
    `Issued At: (?<issued>[^\\s]+)${EXTRAS}`,
  ].join('\\n'),
);

export function writeMessage(message: SignInMessage): string {
  const { domain, address, statement, uri, chainId, nonce, issuedMs, expiresMs, notBeforeMs } = message;
  const lines = [
    `${domain} wants you to sign in with your Ethereum account:`,
    checksumAddress(address),
    '',
    ...(statement === null ? [] : [statement]),
    '',
    `URI: ${uri}`,
    `Version: ${VERSION}`,
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${toTime(issuedMs)}`,
    ...(expiresMs === null ? [] : [`Expiration Time: ${toTime(expiresMs)}`]),
    ...(notBeforeMs === null ? [] : [`Not Before: ${toTime(notBeforeMs)}`]),
  ];
  return lines.join('\n');
}

/** Null for a text that is no such message. */
export function parseMessage(text: string): SignInMessage | null {
  if (text.length > MAX_CHARACTERS) return null;
  const fields = FORM.exec(text)?.groups;
  if (fields === undefined) return null;
  const { scheme, domain, address, statement, uri, chainId, nonce, issued, expires, notBefore } = fields as Fields;
  const lowercase = address.toLowerCase();
  if (!tryParseHex(address, ADDRESS_BYTES, new Uint8Array(ADDRESS_BYTES), 0)) return null;
  if (address !== lowercase && checksumAddress(lowercase) !== address) return null;
  if (scheme !== undefined && !uri.startsWith(`${scheme}://`)) return null;
  const issuedMs = parseTime(issued);
  const expiresMs = expires === undefined ? null : parseTime(expires);
  const notBeforeMs = notBefore === undefined ? null : parseTime(notBefore);
  if ([issuedMs, expiresMs, notBeforeMs].some((time) => Number.isNaN(time)) || !Number.isSafeInteger(Number(chainId)))
    return null;
  return {
    domain,
    address: lowercase,
    statement: statement ?? null,
    uri,
    chainId: Number(chainId),
    nonce,
    issuedMs,
    expiresMs,
    notBeforeMs,
  };
}

/**
 * True if a text is refused because its address has a wrong checksum: that is a wrong address, not another spelling of
 * the right one. An all-lowercase address has no checksum; then only the signature proves the wallet.
 */
export function hasWrongChecksum(text: string): boolean {
  const address = text.length > MAX_CHARACTERS ? undefined : FORM.exec(text)?.groups?.['address'];
  if (address === undefined || address === `0x${address.slice(2).toUpperCase()}`) return false;
  const lowercase = address.toLowerCase();
  return address !== lowercase && checksumAddress(lowercase) !== address;
}

type Fields = Record<'domain' | 'address' | 'uri' | 'chainId' | 'nonce' | 'issued', string> &
  Record<'scheme' | 'statement' | 'expires' | 'notBefore', string | undefined>;

function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** NaN for a text that is no time. */
function parseTime(text: string): number {
  return TIME_FORM.test(text) ? Date.parse(text) : Number.NaN;
}
