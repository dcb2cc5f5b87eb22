//! The order in which libstdc++'s `std::sort` leaves equal values (contract/sampling.md, S-57).
//!
//! torch.sort(stable=False) on the CPU is `std::sort`: introsort with a median of three, insertion sort below 17 elements and heapsort
//! where the recursion is too deep. Only where equal scores straddle the `top_p` cut does it matter which of them come last.

use alloc::vec::Vec;

const SMALL: usize = 16;

/// A score and the id that moves with it.
#[derive(Clone, Copy, Default)]
pub(super) struct Keyed {
    pub(super) key: f32,
    pub(super) id: u32,
}

/// Sort by rising key, as the library does it. Keys are not NaN.
pub(super) fn introsort(items: &mut [Keyed]) {
    if items.len() < 2 {
        return;
    }
    quicksort(items, 2 * items.len().ilog2());
    let small = items.len().min(SMALL);
    for at in 1..small {
        if item(items, at).key < item(items, 0).key {
            if let Some(front) = items.get_mut(..=at) {
                front.rotate_right(1);
            }
        } else {
            unguarded_insert(items, at);
        }
    }
    for at in small..items.len() {
        unguarded_insert(items, at);
    }
}

/// Until only stretches of up to 16 are out of order. Ranges are disjoint, so that the order in which they come does not matter.
fn quicksort(items: &mut [Keyed], depth: u32) {
    let (mut items, mut depth) = (items, depth);
    while items.len() > SMALL {
        if depth == 0 {
            return heap_sort(items);
        }
        depth -= 1;
        median_to_first(items);
        let cut = partition(items);
        let (left, right) = items.split_at_mut(cut);
        quicksort(right, depth);
        items = left;
    }
}

fn item(items: &[Keyed], at: usize) -> Keyed {
    items.get(at).copied().unwrap_or_default()
}

fn set(items: &mut [Keyed], at: usize, item: Keyed) {
    if let Some(to) = items.get_mut(at) {
        *to = item;
    }
}

/// Put the median of the second, the middle and the last element first.
fn median_to_first(items: &mut [Keyed]) {
    let (second, middle, last) = (1, items.len() / 2, items.len() - 1);
    let [x, y, z] = [second, middle, last].map(|at| item(items, at).key);
    let chosen = match (x < y, y < z, x < z) {
        (true, true, _) | (false, false, false) => middle,
        (true, false, true) | (false, true, false) => last,
        (true, false, false) | (false, _, true) => second,
    };
    items.swap(0, chosen);
}

/// Split around the first element, which stays; the median of three guards both ends.
fn partition(items: &mut [Keyed]) -> usize {
    let pivot = item(items, 0).key;
    let (mut first, mut last) = (1, items.len());
    loop {
        while item(items, first).key < pivot {
            first += 1;
        }
        last -= 1;
        while pivot < item(items, last).key {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last);
        first += 1;
    }
}

fn unguarded_insert(items: &mut [Keyed], at: usize) {
    let moved = item(items, at);
    let mut at = at;
    while at > 0 && moved.key < item(items, at - 1).key {
        set(items, at, item(items, at - 1));
        at -= 1;
    }
    set(items, at, moved);
}

fn heap_sort(items: &mut [Keyed]) {
    for parent in (0..=(items.len() - 2) / 2).rev() {
        adjust_heap(items, parent, item(items, parent));
    }
    for last in (1..items.len()).rev() {
        let moved = item(items, last);
        set(items, last, item(items, 0));
        if let Some(heap) = items.get_mut(..last) {
            adjust_heap(heap, 0, moved);
        }
    }
}

/// Sink a hole to the bottom, then let `moved` rise in it.
fn adjust_heap(heap: &mut [Keyed], top: usize, moved: Keyed) {
    let length = heap.len();
    let mut hole = top;
    while hole < (length - 1) / 2 {
        let right = 2 * (hole + 1);
        let child = if item(heap, right).key < item(heap, right - 1).key { right - 1 } else { right };
        set(heap, hole, item(heap, child));
        hole = child;
    }
    if length % 2 == 0 && length >= 2 && hole == (length - 2) / 2 {
        set(heap, hole, item(heap, 2 * hole + 1));
        hole = 2 * hole + 1;
    }
    while hole > top && item(heap, (hole - 1) / 2).key < moved.key {
        set(heap, hole, item(heap, (hole - 1) / 2));
        hole = (hole - 1) / 2;
    }
    set(heap, hole, moved);
}

/// Scores of a row, all others being -inf, in the order of the library; `room` has the ids with their scores afterwards.
pub(super) fn sorted_row(ids: &[u32], scores: &[f32], width: usize, room: &mut Vec<Keyed>) {
    room.clear();
    room.extend((0_u32..).take(width).map(|id| Keyed { key: f32::NEG_INFINITY, id }));
    for (&id, &key) in ids.iter().zip(scores) {
        set(room, id as usize, Keyed { key, id });
    }
    introsort(room);
}
