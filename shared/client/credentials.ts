/** An API key as the account received it. */

export type Credentials = { readonly keyId: string; readonly secret: string; readonly passphrase: string };

/** Credentials that appear in no JSON and no inspection, for options that a program keeps or logs. */
export class ApiKey implements Credentials {
  readonly keyId: string;
  readonly #secret: string;
  readonly #passphrase: string;

  constructor({ keyId, secret, passphrase }: Credentials) {
    this.keyId = keyId;
    this.#secret = secret;
    this.#passphrase = passphrase;
  }

  get secret(): string {
    return this.#secret;
  }

  get passphrase(): string {
    return this.#passphrase;
  }
}
