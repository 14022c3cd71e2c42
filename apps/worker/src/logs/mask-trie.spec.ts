import { MaskTrie, ROOT } from './mask-trie.js';

const WORDS = ['value', 'valid', 'other'].map((word) => Buffer.from(word));

/** A trie of the words, and the nodes that lead to each. */
function grown(): { trie: MaskTrie; paths: number[][] } {
  const trie = new MaskTrie(16, 3);
  const paths = WORDS.map((word) => {
    let node = ROOT;
    return [...word].map((byte) => (node = trie.grow(node, byte)));
  });
  return { trie, paths };
}

describe('a trie', () => {
  it('has one way for the beginning that words share, and knows byte, parent and depth of each node', () => {
    const { trie, paths } = grown();
    expect(paths[1]?.slice(0, 3)).toEqual(paths[0]?.slice(0, 3));
    expect(new Set(paths.flat()).size).toBe(12);
    for (const [at, path] of paths.entries()) {
      for (const [depth, node] of path.entries()) {
        const parent = path[depth - 1] ?? ROOT;
        expect([
          trie.byteOf(node),
          trie.parentOf(node),
          trie.depthOf(node),
          trie.child(parent, trie.byteOf(node)),
        ]).toEqual([WORDS[at]?.[depth], parent, depth + 1, node]);
      }
    }
  });

  it('has no byte, no child and no depth of anything any more once it has forgotten', () => {
    const { trie, paths } = grown();
    trie.forget();
    for (const node of paths.flat()) expect([trie.byteOf(node), trie.child(node, 0x61)]).toEqual([0, ROOT]);
    for (const [first = 0] of WORDS) expect(trie.child(ROOT, first)).toBe(ROOT);
  });
});
