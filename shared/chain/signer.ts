/**
 * A key that stays in another process or machine: a signer is asked for one signature of 32 bytes at a time, by the
 * `Sign` call of AWS KMS, which other signers support too (RULES.md 17.48). Its answer is a signature in DER, with a
 * high or low s and without a recovery id: s is made low, and of the two ids the one is used that leads to the address
 * of the settings.
 *
 * Invariants:
 *   SIGNER-1  A signature is used only if the address in the settings made it, over exactly the requested bytes.
 *   SIGNER-2  A call ends within its time, and fails like a call of a node: the round ends, and the next round asks
 *             again. Nothing was sent, because only signed bytes are sent.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { type Hex, recoverAddress } from 'viem';
import type { SignerAt } from '../base/chainFacts.ts';
import { errorCode } from '../base/thrown.ts';
import { NodeUnreachable } from './rpc.ts';

const TIMEOUT_MS = 5000;
const MOST_ANSWER_BYTES = 16_384;
const HEADERS = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'TrentService.Sign' };

/** 65 bytes: r, s and v. Throws NodeUnreachable. */
export async function signBy(at: SignerAt, digest: Hex, timeoutMs = TIMEOUT_MS): Promise<Hex> {
  const Message = Buffer.from(digest.slice(2), 'hex').toString('base64');
  const KeyId = new URL(at.url).searchParams.get('key') ?? at.address;
  const question = { KeyId, Message, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' };
  const der = signatureIn(await post(at.url, JSON.stringify(question), timeoutMs));
  for (const recovery of ['1b', '1c']) {
    const signature: Hex = `0x${der}${recovery}`;
    // If r is not the x of a curve point, there is no address.
    const address = await recoverAddress({ hash: digest, signature }).catch(() => null);
    if (address?.toLowerCase() === at.address.toLowerCase()) return signature;
  }
  throw failure(`its signature is not that of ${at.address}`);
}

/** Returns r and s in hex, with s in its lower half, because chains refuse a high s. */
function signatureIn(answer: string): string {
  try {
    const { Signature } = JSON.parse(answer);
    const { r, s } = secp256k1.Signature.fromBytes(Buffer.from(Signature, 'base64'), 'der');
    const low = s > secp256k1.Point.Fn.ORDER / 2n ? secp256k1.Point.Fn.ORDER - s : s;
    return [r, low].map((part) => part.toString(16).padStart(64, '0')).join('');
  } catch {
    throw failure('its answer is no signature in DER');
  }
}

function post(url: string, body: string, timeoutMs: number): Promise<string> {
  const { protocol, pathname, search, username, password } = new URL(url);
  const isSocket = protocol === 'unix:';
  const path = isSocket ? '/' : `${pathname}${search}`;
  const auth = username === '' ? {} : { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` };
  const headers = { ...HEADERS, 'content-length': Buffer.byteLength(body) };
  const options = { method: 'POST', path, headers, signal: AbortSignal.timeout(timeoutMs), ...auth };
  const to = isSocket ? { ...options, socketPath: decodeURIComponent(pathname) } : options;
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(failure(`it does not answer (${reasonOf(error)})`));
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    const call = isSocket ? send(to) : send(url, to);
    call.on('error', fail).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', fail).on('data', (part: string) => {
        text += part;
        if (text.length <= MOST_ANSWER_BYTES) return;
        reject(failure('its answer is too long'));
        call.destroy();
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(failure(`it answers ${response.statusCode}`));
      });
    });
    call.end(body);
  });
}

/** Errors of a connection may contain the address. */
function reasonOf(error: Error): string {
  return errorCode(error) ?? error.name;
}

function failure(what: string): NodeUnreachable {
  return new NodeUnreachable(`the signer of a key: ${what}`);
}
