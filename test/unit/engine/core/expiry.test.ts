import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DOUBLE_SHIFT, NONE, Orders } from '../../../../engine/book/orders.ts';
import { ExpiryHeap } from '../../../../engine/core/expiry.ts';
import { Random } from '../../../support/random.ts';

function makeHeap(): { orders: Orders; heap: ExpiryHeap; add: (expirationSec: number) => number } {
  const orders = new Orders();
  const heap = new ExpiryHeap(orders);
  let sequence = 0;
  const add = (expirationSec: number): number => {
    const slot = orders.allocate(1);
    orders.expirationSec[slot << DOUBLE_SHIFT] = expirationSec;
    orders.sequence[slot << DOUBLE_SHIFT] = ++sequence;
    heap.add(slot);
    return slot;
  };
  return { orders, heap, add };
}

it('an empty heap is due never', () => {
  const { heap } = makeHeap();
  assert.equal(heap.first(), NONE);
  assert.equal(heap.firstMs, Number.POSITIVE_INFINITY);
});

it('the soonest is first, of those of one second the earlier order', () => {
  const { heap, add } = makeHeap();
  const slots = [add(30), add(10), add(20), add(10)];
  assert.equal(heap.firstMs, 10_000);
  const out: number[] = [];
  for (; heap.size > 0; heap.remove(heap.first())) out.push(heap.first());
  assert.deepEqual(out, [slots[1], slots[3], slots[2], slots[0]]);
});

it('taking out what is not in it changes nothing', () => {
  const { orders, heap, add } = makeHeap();
  const slot = add(10);
  const other = orders.allocate(1);
  heap.remove(other);
  heap.remove(slot);
  heap.remove(slot);
  assert.equal(heap.size, 0);
});

it('agrees with a sorted list through thousands of random additions and removals', () => {
  const random = new Random(20_260_101);
  const { orders, heap, add } = makeHeap();
  const inside: number[] = [];
  const before = (a: number, b: number): number =>
    orders.expirationSec[a << DOUBLE_SHIFT] - orders.expirationSec[b << DOUBLE_SHIFT] ||
    orders.sequence[a << DOUBLE_SHIFT] - orders.sequence[b << DOUBLE_SHIFT];
  for (let step = 0; step < 6000; step++) {
    // Grows beyond the heap's first 1024 places, then shrinks to nothing.
    if (random.below(100) < (step < 4000 ? 75 : 20)) {
      inside.push(add(1 + random.below(500)));
    } else if (inside.length > 0) {
      const [slot] = inside.splice(random.below(inside.length), 1);
      heap.remove(slot!);
      orders.free(slot!);
    }
    assert.equal(heap.size, inside.length);
    if (step % 64 === 0) heap.validate();
    if (step % 16 === 0 && inside.length > 0) assert.equal(heap.first(), inside.toSorted(before)[0]);
  }
  for (const slot of inside.sort(before)) {
    assert.equal(heap.first(), slot);
    heap.remove(slot);
  }
  assert.equal(heap.size, 0);
});
