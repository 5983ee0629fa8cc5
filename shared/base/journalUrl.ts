/**
 * The address of the replicated log of a cluster (RULES.md 18.1): `postgres://user:password@host:port,host:port/name`,
 * with the parameters of libpq for TLS. It contains a password, so no message of this file repeats any part of it.
 */
import { readFileSync } from 'node:fs';
import { errorCode } from './thrown.ts';

/** Hosts with or without a port, separated by commas, or none with a socket among the parameters. */
const FORM = /^(postgres(?:ql)?:\/\/)([^@/?#\s]*@)?([^@/?#\s]*)(\/[^/?#\s]+)(\?[^#\s]*)?$/;
const FORM_TEXT =
  'expected postgres://user:password@host:port,host:port/name, with / @ : ? # % of the password as %2F and the like';
/** Modes that accept any certificate, or that fall back to no TLS, protect against nothing. */
const SSL_MODES = ['disable', 'verify-ca', 'verify-full'];
/** A longer file is the wrong file. */
const MOST_CHARACTERS = 4000;

type Environment = Readonly<Record<string, string | undefined>>;

/** The address cannot be used. The message is one line that begins with the name of a setting. */
export class JournalUrlError extends Error {
  override readonly name = 'JournalUrlError';
}

/** @returns the address in JOURNAL_URL, or in the file JOURNAL_URL_FILE; an empty text if neither is set. */
export function journalUrlOf(env: Environment): string {
  const [given, path] = [(env['JOURNAL_URL'] ?? '').trim(), (env['JOURNAL_URL_FILE'] ?? '').trim()];
  if (given !== '' && path !== '') throw new JournalUrlError('JOURNAL_URL and JOURNAL_URL_FILE: set one of them');
  const url = path === '' ? given : textOf(path);
  if (url === '' && path === '') return '';
  const problem = problemOf(url);
  if (problem !== null) throw new JournalUrlError(`${path === '' ? 'JOURNAL_URL' : 'JOURNAL_URL_FILE'}: ${problem}`);
  return url;
}

/** The servers of a URL, one URL each. */
export function serversOf(url: string): readonly string[] {
  const [, scheme, user = '', hosts, name, parameters = ''] = FORM.exec(url) ?? [];
  if (scheme === undefined || hosts === undefined) throw new JournalUrlError(`JOURNAL_URL: ${FORM_TEXT}`);
  return hosts.split(',').map((host) => `${scheme}${user}${host}${name}${parameters}`);
}

/** Each host that a URL names, or that its parameters name instead; a socket counts as localhost. */
export function hostsOf(url: string): readonly string[] {
  return serversOf(url).flatMap((server) => {
    const { hostname, searchParams } = new URL(URL.canParse(server) ? server : server.replace('@/', '@localhost/'));
    const given = searchParams.getAll('host').filter((host) => !host.startsWith('/'));
    return [hostname.replace(/^\[(.*)\]$/, '$1'), ...given];
  });
}

/** The host and the port of a server, without secrets. */
export function serverName(server: string): string {
  return URL.canParse(server) ? new URL(server).host : 'socket';
}

function problemOf(url: string): string | null {
  const [, , user = '', , name, parameters = ''] = FORM.exec(url) ?? [];
  if (name === undefined || !isEncoded(user) || !isEncoded(name)) return FORM_TEXT;
  // An empty host stands for a socket; browsers do not accept this as a URL.
  const isUrl = (server: string): boolean => URL.canParse(server) || URL.canParse(server.replace('@/', '@socket/'));
  if (!serversOf(url).every(isUrl)) return FORM_TEXT;
  const mode = new URLSearchParams(parameters).get('sslmode');
  const isKnown = mode === null || SSL_MODES.includes(mode);
  return isKnown ? null : `sslmode is ${SSL_MODES.join(', ')}: others accept a server that is not yours`;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function textOf(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new JournalUrlError(`JOURNAL_URL_FILE: cannot read ${path} (${errorCode(error)})`);
  }
  if (text.length > MOST_CHARACTERS) throw new JournalUrlError(`JOURNAL_URL_FILE: ${path}: ${FORM_TEXT}`);
  return text;
}
