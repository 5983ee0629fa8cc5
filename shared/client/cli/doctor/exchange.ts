/**
 * Checks the way to the exchange: settings, address, encryption, its answer, its state, and the difference of the
 * clocks.
 */
import { isIP } from 'node:net';
import { connect, type PeerCertificate } from 'node:tls';
import { memberOf } from '../../../base/memberOf.ts';
import { errorCode, errorMessage } from '../../../base/thrown.ts';
import { ApiError } from '../../http.ts';
import { explain } from '../frame/explain.ts';
import { type Finding, fail, ok, type Patient, skip, warn } from './finding.ts';

const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];
const DAY_MS = 86_400_000;
const CERTIFICATE_DAYS = 14;
const SLOW_MS = 1000;
const TLS_TIMEOUT_MS = 10_000;
/** Requests with a key are refused beyond this difference (RULES.md 4.3). */
const WINDOW_MS = 30_000;
const NOTABLE_SKEW_MS = 5000;
const UNAVAILABLE = 503;

export async function checkSettings({ context }: Patient): Promise<Finding> {
  try {
    const { access } = context;
    const file = access.configPath === null ? 'no settings are kept' : `settings in ${access.configPath}`;
    return ok('settings', `profile ${access.profileName}, ${file}`);
  } catch (error) {
    return fail('settings', errorMessage(error), 'mend the file, or remove it and sign in again');
  }
}

/** The faults of a connection, by the code of the system. */
const CONNECTION_FAULTS: Readonly<Record<string, readonly [string, string]>> = {
  ECONNREFUSED: ['no program listens there', 'start the exchange (npm start), or give its address: --url, BASE_URL'],
  ENOTFOUND: ['the name is not known', 'check the address (--url, BASE_URL) and the DNS of this machine'],
  EAI_AGAIN: ['the DNS does not answer', 'check the network of this machine'],
  ECONNRESET: ['the connection was cut', 'is it https where http was given, or a proxy between?'],
  UND_ERR_SOCKET: ['the connection was cut', 'is it https where http was given, or a proxy between?'],
  EHOSTUNREACH: ['there is no way to that machine', 'check the network and the firewall'],
  ENETUNREACH: ['there is no way to that network', 'check the network of this machine'],
  ETIMEDOUT: ['it does not answer', 'check the firewall on both sides'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'the operator has to renew it; do not trade until then'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['its certificate is self-signed', 'trust it with NODE_EXTRA_CA_CERTS, if it is yours'],
  SELF_SIGNED_CERT_IN_CHAIN: ['its certificate is of an unknown authority', 'trust it with NODE_EXTRA_CA_CERTS'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['its certificate is of an unknown authority', 'NODE_EXTRA_CA_CERTS trusts it'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['its certificate is for another name', 'check the address; do not trade until then'],
};

export async function checkReached(patient: Patient): Promise<Finding> {
  const { context } = patient;
  const startMs = performance.now();
  try {
    const { status } = await context.publicClient().health();
    const tookMs = Math.round(performance.now() - startMs);
    patient.isReached = true;
    const message = `${context.baseUrl} is ${status}, first answer after ${tookMs} ms`;
    if (tookMs < SLOW_MS) return ok('reachable', message);
    return warn('reachable', message, 'far for trading: look at the network, or move closer to the exchange');
  } catch (error) {
    if (error instanceof ApiError) {
      const advice = 'is this the address of the exchange itself? (--url, BASE_URL)';
      return fail(
        'reachable',
        `${context.baseUrl} answers, but not as the exchange does (HTTP ${error.status})`,
        advice,
      );
    }
    const cause = memberOf(error, 'cause');
    const code = errorCode(cause) ?? (cause instanceof AggregateError ? errorCode(cause.errors[0]) : undefined) ?? '';
    const [fault, advice] = CONNECTION_FAULTS[code] ?? [explain(error).failure.error, 'check --url and the network'];
    return fail('reachable', `${context.baseUrl}: ${fault}${code === '' ? '' : ` (${code})`}`, advice);
  }
}

export async function checkEncryption({ context, isReached }: Patient): Promise<Finding> {
  const { protocol, hostname, port } = new URL(context.baseUrl);
  if (protocol === 'http:') {
    if (LOOPBACK.includes(hostname)) return ok('encryption', 'none, and none is needed on this machine');
    return fail('encryption', 'none: others on the way can read and change what you send', 'use https:// in --url');
  }
  if (!isReached) return skip('encryption', 'the exchange was not reached');
  const { version, certificate } = await certificateOf(hostname, Number(port || 443));
  const days = Math.floor((Date.parse(certificate.valid_to) - context.terminal.clock.nowMs()) / DAY_MS);
  const message = `${version}, certificate of ${certificate.subject?.CN ?? hostname} for ${days} more days`;
  if (days >= CERTIFICATE_DAYS) return ok('encryption', message);
  return warn('encryption', message, 'the operator has to renew it soon');
}

function certificateOf(host: string, port: number): Promise<{ version: string; certificate: PeerCertificate }> {
  return new Promise((resolve, reject) => {
    const name = host.replace(/^\[|\]$/g, '');
    const socket = connect({ host: name, port, servername: isIP(name) === 0 ? name : undefined }, () => {
      resolve({ version: socket.getProtocol() ?? 'TLS', certificate: socket.getPeerCertificate() });
      socket.destroy();
    });
    socket.setTimeout(TLS_TIMEOUT_MS, () => socket.destroy(new Error('no answer to the TLS handshake')));
    socket.on('error', reject);
  });
}

export async function checkReady(patient: Patient): Promise<Finding | readonly Finding[]> {
  const { context, isReached } = patient;
  if (!isReached) return skip('exchange', 'the exchange was not reached');
  const client = context.publicClient();
  let reason: string | undefined;
  try {
    ({ reason } = await client.ready());
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== UNAVAILABLE) throw error;
    return warn('exchange', `it is not ready (${error.message})`, 'wait; the operator looks at /ready and at the log');
  }
  const { markets } = await client.markets({ status: 'active', limit: 1 });
  patient.marketId = markets[0]?.id ?? null;
  const { paused, stage } = await client.platformConfig();
  if (paused) return warn('exchange', 'it is paused: no order is accepted', 'cancels work; wait until it resumes');
  if (stage !== 'open')
    return warn('exchange', `it is in ${stage.replace('_', '-')}`, 'cancels work; wait until it opens');
  if (reason !== undefined) return warn('exchange', reason, 'cancels work; the operator looks at /ops');
  if (patient.marketId === null) return warn('exchange', 'no market is active', 'there is nothing to trade yet');
  return ok('exchange', 'it is ready and trading');
}

export async function checkClock({ context, isReached }: Patient): Promise<Finding> {
  if (!isReached) return skip('clock', 'the exchange was not reached');
  const { clock } = context.terminal;
  const sentMs = clock.nowMs();
  const { time } = await context.publicClient().time();
  // The time is truncated to a second, and was read about half way through the request.
  const skewMs = Math.round(time * 1000 + 500 - (sentMs + clock.nowMs()) / 2);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const message = `this machine is ${seconds} s ${skewMs > 0 ? 'behind' : 'ahead of'} the exchange`;
  const advice = 'set the clock and keep it right: timedatectl set-ntp true, or chrony';
  if (Math.abs(skewMs) >= WINDOW_MS) return fail('clock', `${message}: signed requests are refused`, advice);
  if (Math.abs(skewMs) >= NOTABLE_SKEW_MS) return warn('clock', message, advice);
  return ok('clock', 'right to about a second');
}
