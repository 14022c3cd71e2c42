import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { IdentityFiles } from '../../apps/cli/src/management/management-client.js';
import type { MountedSecrets } from './mounted-secrets.js';
import type { TestDatabase } from './postgres.js';
import { PROJECT } from './published-task.js';
import { type TestPki, TRUST_DOMAIN } from './test-pki.js';

type Settings = Readonly<Record<string, string>>;

/** Every kind of operator; `alice` is the one that tests act as. */
export const OPERATORS = {
  alice: { '*': 'admin' },
  viewer: { [PROJECT]: 'viewer' },
  editor: { [PROJECT]: 'editor' },
  'project-admin': { [PROJECT]: 'admin' },
  elsewhere: { 'another-project': 'admin' },
};

/** The settings of a control, whichever of its listeners it has; the files that they name lie in one directory. */
export class ControlSettings {
  readonly #ingress: Settings;
  readonly #management: Settings;

  constructor(
    directory: string,
    database: TestDatabase,
    secrets: MountedSecrets,
    private readonly pki: TestPki,
  ) {
    const file = (name: string, content: string): string => {
      const path = join(directory, name);
      writeFileSync(path, content, { mode: 0o600 });
      return path;
    };
    this.#ingress = {
      VALISE_INGRESS_DATABASE_URL_FILE: file('ingress-url', database.url('valise_ingress')),
      VALISE_INGRESS_LISTEN: '127.0.0.1:0',
      VALISE_SECRETS_DIRECTORY: secrets.directory,
    };
    this.#management = {
      VALISE_OPERATOR_DATABASE_URL_FILE: file('operator-url', database.url('valise_operator')),
      VALISE_SWEEPER_DATABASE_URL_FILE: file('sweeper-url', database.url('valise_sweeper')),
      VALISE_MANAGEMENT_LISTEN: '127.0.0.1:0',
      VALISE_OPERATORS_FILE: file('operators', JSON.stringify(OPERATORS)),
    };
  }

  /** Of a control that shows this certificate. */
  of(listeners: 'both' | 'ingress' | 'management', identity: IdentityFiles): Settings {
    return {
      VALISE_LISTENERS: listeners,
      VALISE_TRUST_DOMAIN: TRUST_DOMAIN,
      VALISE_PLAIN_LISTEN: '127.0.0.1:0',
      VALISE_TLS_CERTIFICATE_FILE: identity.certificateFile,
      VALISE_TLS_KEY_FILE: identity.keyFile,
      VALISE_TLS_CLIENT_CA_FILE: this.pki.caFile,
      VALISE_TLS_REVOCATION_FILE: this.pki.revocationFile,
      ...(listeners !== 'management' && this.#ingress),
      ...(listeners !== 'ingress' && this.#management),
    };
  }
}
