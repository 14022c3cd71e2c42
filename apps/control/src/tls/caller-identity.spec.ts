import { parseIdentity } from './caller-identity.js';

const identify = (subjectAltName: string | undefined) => {
  const identity = parseIdentity(subjectAltName, 'valise.test', '0A');
  return identity && `${identity.kind} ${identity.id} ${identity.certificateSerial}`;
};

describe('the identity in a certificate', () => {
  it('is its one SPIFFE URI, of a worker or an operator', () => {
    expect(identify('URI:spiffe://valise.test/worker/w-1')).toBe('worker w-1 0A');
    expect(identify('DNS:w-1.internal, URI:spiffe://valise.test/operator/alice')).toBe('operator alice 0A');
  });

  it.each([
    ['no subject alternative name', undefined],
    ['no URI', 'DNS:spiffe://valise.test/worker/w-1'],
    ['two URIs', 'URI:spiffe://valise.test/worker/w-1, URI:spiffe://valise.test/worker/w-2'],
    ['a second URI of another kind', 'URI:spiffe://valise.test/worker/w-1, URI:https://example.test/'],
    ['another trust domain', 'URI:spiffe://valise.test.example/worker/w-1'],
    ['another scheme', 'URI:https://valise.test/worker/w-1'],
    ['another kind', 'URI:spiffe://valise.test/control/w-1'],
    ['no id', 'URI:spiffe://valise.test/worker/'],
    ['a longer path', 'URI:spiffe://valise.test/worker/w-1/x'],
    ['an encoded id', 'URI:spiffe://valise.test/worker/w%2d1'],
    ['a name that imitates a further entry', 'DNS:"x, URI:spiffe://valise.test/worker/w-1, y"'],
  ])('is nobody with %s', (_, subjectAltName) => {
    expect(identify(subjectAltName)).toBeNull();
  });
});
