import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAILURES, type FailureCode } from '@valise/contracts/failure';
import { describeListeners } from './describe.js';

const PUBLISHED = join(__dirname, '../../../../docs/reference/openapi.json');

interface Schema {
  readonly properties: Record<string, { readonly enum?: readonly string[] }>;
  readonly examples?: readonly unknown[];
}
interface Operation {
  readonly responses: Record<
    string,
    { readonly content?: Record<string, { schema: { allOf: readonly Schema[] } }> }
  >;
}
interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

let document: Document;

beforeAll(async () => {
  document = JSON.parse(JSON.stringify(await describeListeners())) as Document;
});

describe('the OpenAPI document', () => {
  it('is docs/reference/openapi.json, which npm run openapi writes', () => {
    expect(JSON.parse(readFileSync(PUBLISHED, 'utf8'))).toEqual(document);
  });

  it('names every failure code, and no other, as the code of a problem', () => {
    expect(document.components.schemas.Problem?.properties.code?.enum).toEqual(Object.keys(FAILURES));
  });

  it('shows an example of every body', () => {
    const bare = Object.entries(document.components.schemas).filter(([, { examples }]) => !examples);
    expect(bare.map(([name]) => name)).toEqual([]);
  });

  it('lists each refusal of a route under its own status', () => {
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    for (const { responses } of operations) {
      const refusals = Object.entries(responses).filter(([status]) => Number(status) >= 400);
      expect(refusals.map(([status]) => status)).toEqual(
        expect.arrayContaining(['400', '401', '403', '500', '503']),
      );
      for (const [status, { content }] of refusals) {
        const codes = content?.['application/problem+json']?.schema.allOf[1]?.properties.code?.enum ?? [];
        expect(codes.length).toBeGreaterThan(0);
        for (const code of codes) expect(FAILURES[code as FailureCode].status).toBe(Number(status));
      }
    }
  });

  it('gives every route of both listeners', () => {
    const routes = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path.replace(/.*\{sessionId\}/, '…')}`),
    );
    expect(
      routes.filter((route) => route.includes('…')).map((route) => route.slice('post …/'.length)),
    ).toEqual([
      'register',
      'heartbeat',
      'transition',
      'offers',
      'lease-control',
      'starting',
      'start-failure',
      'running',
      'completion',
      'artifacts',
      'secrets',
    ]);
    expect(routes.filter((route) => !route.includes('…'))).toHaveLength(12);
  });
});
