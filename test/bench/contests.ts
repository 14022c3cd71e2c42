import type { Material } from '../support/lease-stock.js';
import type { LoadShape } from './load.js';
import { bundleOf, entriesOf, secretsOf } from './material.js';

/** What is delivered, and under which loads. */
export interface Contest {
  readonly name: string;
  readonly material: Material;
  readonly shapes: readonly LoadShape[];
}

/** Code is compiled by what it is used for; a server is measured as it is after its first minute. */
export const WARM_UP: LoadShape = { connections: 16, keepAlive: true, requests: 2000 };

/** All requests of a connection one after the other. */
export const kept = (connections: number, requests: number): LoadShape => ({
  connections,
  keepAlive: true,
  requests,
});
/** A handshake for each request. */
const shaken = (connections: number, requests: number): LoadShape => ({
  connections,
  keepAlive: false,
  requests,
});

export function contestsOf(full: boolean): Contest[] {
  const judged = kept(16, 800);
  if (!full) {
    return [
      { name: 'bundle of 16 KiB', material: bundleOf(16), shapes: [judged, kept(1, 150), shaken(16, 240)] },
      { name: 'bundle of 96 KiB', material: bundleOf(96), shapes: [kept(64, 640)] },
      { name: '64 secrets', material: secretsOf(64), shapes: [kept(16, 320)] },
    ];
  }
  const grid = [1, 16, 64].flatMap((connections) => [
    kept(connections, connections === 1 ? 150 : 800),
    shaken(connections, connections === 1 ? 100 : 320),
  ]);
  return [
    ...[1, 16, 96].map((kib) => ({ name: `bundle of ${kib} KiB`, material: bundleOf(kib), shapes: grid })),
    ...[1, 16, 64].map((count) => ({
      name: `${count} secrets`,
      material: secretsOf(count),
      shapes: [kept(16, 400)],
    })),
    ...[1, 16, 256].map((count) => ({
      name: `bundle of ${count} entries`,
      material: entriesOf(count),
      shapes: [kept(16, 400)],
    })),
  ];
}
