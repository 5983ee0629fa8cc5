/** Members of bodies and answers whose values are never shown again, neither in a refusal nor in the audit log. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'signature',
  'secret',
  'passphrase',
  'token',
  'access_token',
  'identity_token',
  'refresh_token',
  'ticket',
  'launch_url',
  'password',
  'private_key',
  'master_key',
  'admin_token',
]);
