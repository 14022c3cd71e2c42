import type { OrdinarySecret } from './mounted-secrets.js';

/** What an ordinary service is configured with; nothing in it is real. It has what breaks careless transports. */
export const SAMPLE_DOTENV = `# A built-in sample; give your own with --env-file FILE
DATABASE_URL=postgres://orders:hVq8%2FmT2@db.internal.example:5432/orders?sslmode=verify-full
REDIS_URL=rediss://:bQ0vC3sE9xW1@cache.internal.example:6380/4
STRIPE_API_KEY=rk_demo_Zk3wP8sLq2Xv9TnB4mYc7HdF
SMTP_USERNAME=orders@mail.internal.example
SMTP_PASSWORD='p$$a$(x)\${HOME} \`not run\` "quoted"'
SESSION_COOKIE_SECRET="first half of it\\nsecond half of it"
OAUTH_CLIENT_ID=5f2c9b1e-orders-service
OAUTH_CLIENT_SECRET='  two spaces on either side  '
SENTRY_DSN=https://0c4ff1a2b3d44e5f@errors.internal.example/17
FEATURE_FLAGS='{"checkout":"v2","prices":["eur","chf"]}'
GREETING='Grüße aus Zürich — 你好'
SIGNING_KEY="-----BEGIN DEMO KEY-----
bm90IGEga2V5LCBidXQgYXMgbG9uZyBhcyBvbmUgYW5kIG9mIHNldmVyYWwgbGlu
ZXMsIGFzIFBFTSBmaWxlcyBhcmUuIEl0IG9wZW5zIG5vdGhpbmcgYW55d2hlcmUu
-----END DEMO KEY-----
"
HTTP_PROXY_PASSWORD=
`;

/** An ordinary secret beside the bundle: bound to one variable by a reference of its own. */
export const SAMPLE_SECRETS: readonly OrdinarySecret[] = [
  { name: 'LICENSE_TOKEN', value: Buffer.from('lic-7Hq2-Vw93-Zt5K-demo-only') },
];
