import { forget, offHeap } from './off-heap.js';

describe('memory outside the heap', () => {
  it('is empty in every view once it is forgotten, and may be forgotten again', () => {
    const bytes = offHeap(64).fill('s');
    const part = bytes.subarray(8, 16);
    forget(bytes);
    expect([bytes.length, part.length, bytes.buffer.byteLength]).toEqual([0, 0, 0]);
    forget(bytes);
  });

  it('is zeroed before it is free', () => {
    const bytes = offHeap(64).fill('s');
    const fill = jest.spyOn(bytes, 'fill').mockImplementation((value) => {
      expect([value, bytes.length]).toEqual([0, 64]);
      return bytes;
    });
    forget(bytes);
    expect(fill).toHaveBeenCalledTimes(1);
  });
});
