//! CAKE's heap of queues, ordered by backlog: `cake_heap_get_backlog`, `cake_heapify`, `cake_heapify_up`.

use super::{CAKE_MAX_TINS, CAKE_QUEUES, Cake};

impl Cake {
    fn heap_get_backlog(&self, i: usize) -> u64 {
        let (t, b) = self.overflow_heap[i];
        self.tins.get(t).map_or(0, |tin| tin.flows[b].backlog())
    }

    pub(super) fn heapify(&mut self, mut i: usize) {
        let a = CAKE_MAX_TINS * CAKE_QUEUES;
        let mut mb = self.heap_get_backlog(i);
        let mut m = i;
        while m < a {
            let l = m + m + 1;
            let r = l + 1;
            if l < a {
                let lb = self.heap_get_backlog(l);
                if lb > mb {
                    m = l;
                    mb = lb;
                }
            }
            if r < a {
                let rb = self.heap_get_backlog(r);
                if rb > mb {
                    m = r;
                    mb = rb;
                }
            }
            if m != i {
                self.overflow_heap.swap(i, m);
                i = m;
            } else {
                break;
            }
        }
    }

    pub(super) fn heapify_up(&mut self, mut i: usize) {
        while i > 0 && i < CAKE_MAX_TINS * CAKE_QUEUES {
            let p = (i - 1) >> 1;
            if self.heap_get_backlog(i) > self.heap_get_backlog(p) {
                self.overflow_heap.swap(i, p);
                i = p;
            } else {
                break;
            }
        }
    }

    pub(super) fn overflow_idx(&self, i: usize, idx: usize) -> usize {
        self.overflow_heap.iter().position(|entry| *entry == (i, idx)).expect("all queues")
    }
}
