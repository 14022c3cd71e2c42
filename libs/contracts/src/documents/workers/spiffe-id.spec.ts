import { parseSpiffeId } from './spiffe-id.js';

describe('the identity in a certificate', () => {
  it('is its one SPIFFE URI, of a worker or an operator', () => {
    expect(parseSpiffeId('URI:spiffe://valise.test/worker/w-1')).toEqual({
      trustDomain: 'valise.test',
      kind: 'worker',
      id: 'w-1',
    });
    expect(parseSpiffeId('DNS:w-1.internal, URI:spiffe://valise.test/operator/alice')).toMatchObject({
      kind: 'operator',
      id: 'alice',
    });
  });

  it.each([
    ['no subject alternative name', undefined],
    ['no URI', 'DNS:spiffe://valise.test/worker/w-1'],
    ['two URIs', 'URI:spiffe://valise.test/worker/w-1, URI:spiffe://valise.test/worker/w-2'],
    ['a second URI of another kind', 'URI:spiffe://valise.test/worker/w-1, URI:https://example.test/'],
    ['another scheme', 'URI:https://valise.test/worker/w-1'],
    ['another kind', 'URI:spiffe://valise.test/control/w-1'],
    ['no trust domain', 'URI:spiffe:///worker/w-1'],
    ['no id', 'URI:spiffe://valise.test/worker/'],
    ['a longer path', 'URI:spiffe://valise.test/worker/w-1/x'],
    ['an encoded id', 'URI:spiffe://valise.test/worker/w%2d1'],
    ['a name that imitates a further entry', 'DNS:"x, URI:spiffe://valise.test/worker/w-1, y"'],
  ])('is nobody with %s', (_, subjectAltName) => {
    expect(parseSpiffeId(subjectAltName)).toBeNull();
  });
});
