import { absolutePath, httpsOrigin, Settings } from '@valise/contracts/settings';
import { errnoOf, Refusal } from '../refusal.js';
import { ManagementClient } from './management-client.js';

/**
 * Control's management listener, as the operator's settings name it.
 * @throws ValiseError configuration_invalid naming the setting, or Refusal when a file cannot be read
 */
export function connectAsOperator(
  environment: Readonly<Record<string, string | undefined>>,
): ManagementClient {
  const settings = new Settings(environment);
  const { origin } = settings.take('VALISE_MANAGEMENT_URL', httpsOrigin);
  const authorityFile = settings.take('VALISE_TLS_CA_FILE', absolutePath);
  const certificateFile = settings.take('VALISE_TLS_CERTIFICATE_FILE', absolutePath);
  const keyFile = settings.take('VALISE_TLS_KEY_FILE', absolutePath);
  try {
    return new ManagementClient(origin, authorityFile, { certificateFile, keyFile });
  } catch (error) {
    throw new Refusal(`A file of VALISE_TLS_… cannot be read (${errnoOf(error) ?? 'not PEM'}).`, 2);
  }
}
