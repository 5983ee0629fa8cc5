/** The ways to authenticate a request, for the documents of the interface: headers of a key, and tokens. */
import { AUTH_HEADER } from '../../shared/crypto/hmac.ts';

export const KEY_SCHEMES = {
  apiKey: inHeader(AUTH_HEADER.API_KEY, 'The id of the key.'),
  passphrase: inHeader(AUTH_HEADER.PASSPHRASE, 'The passphrase of the key.'),
  timestamp: inHeader(AUTH_HEADER.TIMESTAMP, 'Unix seconds, at most 30 seconds off.'),
  signature: inHeader(
    AUTH_HEADER.SIGNATURE,
    'HMAC-SHA256 in base64 with the secret of the key. Version 1 signs timestamp, method, target and body; version 2 ' +
      'signs timestamp, nonce, method, target and the SHA-256 of the body.',
  ),
  signingVersion: inHeader(AUTH_HEADER.VERSION, 'Absent or 1, or 2.'),
  nonce: inHeader(AUTH_HEADER.NONCE, 'Of version 2: 16 to 64 characters, used once.'),
};

export const BEARER_SCHEMES = {
  session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The access token of a session.' },
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of an operator who has the role. Requests with a wrong one are counted by their address.',
  },
};

function inHeader(name: string, description: string): { type: string; in: string; name: string; description: string } {
  return { type: 'apiKey', in: 'header', name, description };
}
