import { textOfLog } from '@valise/contracts/documents';
import { MaskPatterns } from './mask-patterns.js';
import { OutputOrder } from './output-order.js';

const VALUE = 'correct horse battery';

describe('output that waits for what the other stream holds back', () => {
  it('waits in bounded memory, also when it comes in very small pieces', async () => {
    const order = new OutputOrder();
    const searches = await new MaskPatterns([Buffer.from(VALUE)]).prepare();
    order.push('stderr', Buffer.from(VALUE.slice(0, 5)), searches);
    let pushed = 0;
    let shown = Buffer.of();
    for (; shown.length === 0 && pushed < 100_000; pushed += 1) {
      order.push('stdout', Buffer.from('.\n'), searches);
      shown = Buffer.concat([shown, order.take()]);
    }
    expect(pushed).toBeLessThan(10_000);
    expect(textOfLog(shown).toString()).toMatch(/^corre(\.\n)+$/);
  });

  it('waits again for what is held back afterwards', async () => {
    const order = new OutputOrder();
    const searches = await new MaskPatterns([Buffer.from(VALUE)]).prepare();
    for (let round = 0; round < 3; round += 1) {
      for (let count = 0; count < 3000; count += 1) order.push('stdout', Buffer.from('.\n'), searches);
      expect(order.take().length).toBeGreaterThan(0);
    }
    order.push('stderr', Buffer.from(VALUE.slice(0, 5)), searches);
    order.push('stdout', Buffer.from('after\n'), searches);
    expect(textOfLog(order.take()).toString()).not.toContain('after');
    order.end('stderr');
    order.end('stdout');
    expect(textOfLog(order.take()).toString()).toBe(`${VALUE.slice(0, 5)}after\n`);
  });
});
