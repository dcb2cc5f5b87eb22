//! Where the text of special tokens stands in a text: an Aho-Corasick automaton (Aho and Corasick 1975) that reports the leftmost, of
//! those the longest, and goes through a text once, however many texts of special tokens there are in it.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::artifact::SpecialTokens;
use crate::ids::TokenId;

/// The text of a special token in a text, at bytes `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The token.
    pub id: TokenId,
}

/// The node of the empty text.
const ROOT: u32 = 0;

/// The automaton. A node stands for the beginning of a text, and is a number.
pub(crate) struct SpecialAutomaton {
    nodes: Vec<Node>,
    /// Of all nodes, those of one next to each other: the byte of each edge, and the node that is one byte longer.
    labels: Vec<u8>,
    targets: Vec<u32>,
    /// All texts, one after the other.
    texts: Vec<u8>,
    /// Whether a text begins with this byte.
    begins: [bool; 256],
}

#[derive(Default)]
struct Node {
    /// Bytes of the beginning.
    depth: usize,
    /// Where a text that goes on after it begins among all texts.
    example: usize,
    /// The longest proper suffix that is a beginning too.
    suffix: u32,
    /// The longest text that this ends with, with its length.
    text: Option<(usize, TokenId)>,
    /// Its edges.
    edges: Range<usize>,
    /// The first node after it that ends with a text or does not have exactly one edge, where the bytes up to there are compared at once.
    leap: Option<u32>,
}

impl SpecialAutomaton {
    pub(crate) fn new(tokens: &SpecialTokens) -> Self {
        let mut automaton = Self {
            nodes: vec![Node::default()],
            labels: Vec::new(),
            targets: Vec::new(),
            texts: Vec::new(),
            begins: [false; 256],
        };
        let mut edges = BTreeMap::new();
        for token in tokens.iter() {
            automaton.add(&token.text, token.id, &mut edges);
        }
        automaton.keep(&edges);
        let by_depth = automaton.by_depth();
        automaton.link(&by_depth);
        automaton.leaps(&by_depth);
        automaton
    }

    fn add(&mut self, text: &[u8], id: TokenId, edges: &mut BTreeMap<(u32, u8), u32>) {
        let example = self.texts.len();
        self.texts.extend_from_slice(text);
        let mut node = ROOT;
        for (&byte, depth) in text.iter().zip(1..) {
            // At most 4,096 texts of 255 bytes.
            let next = u32::try_from(self.nodes.len()).unwrap_or(ROOT);
            // The text goes on here.
            if let Some(node) = self.nodes.get_mut(node as usize) {
                node.example = example;
            }
            node = *edges.entry((node, byte)).or_insert(next);
            if node == next {
                self.nodes.push(Node { depth, ..Node::default() });
            }
        }
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.text = Some((text.len(), id));
        }
        if let Some(begins) = text.first().and_then(|&byte| self.begins.get_mut(usize::from(byte))) {
            *begins = true;
        }
    }

    /// The edges in the order of their nodes.
    fn keep(&mut self, edges: &BTreeMap<(u32, u8), u32>) {
        for (&(parent, label), &node) in edges {
            let at = self.labels.len();
            if let Some(parent) = self.nodes.get_mut(parent as usize) {
                let start = if parent.edges.is_empty() { at } else { parent.edges.start };
                parent.edges = start..at + 1;
            }
            self.labels.push(label);
            self.targets.push(node);
        }
    }

    /// The nodes, those of less depth first.
    fn by_depth(&self) -> Vec<u32> {
        let mut nodes: Vec<u32> = (0..).take(self.nodes.len()).collect();
        nodes.sort_by_key(|&node| self.node(node).map_or(0, |node| node.depth));
        nodes
    }

    /// Give each node its suffix and the text that it ends with.
    fn link(&mut self, by_depth: &[u32]) {
        for &parent in by_depth {
            let Some(Node { edges, suffix: above, .. }) = self.node(parent) else { continue };
            let (edges, above) = (edges.clone(), *above);
            for at in edges {
                let Some((&byte, &node)) = self.labels.get(at).zip(self.targets.get(at)) else { continue };
                let suffix = if parent == ROOT { ROOT } else { self.after(above, byte) };
                let text = self.node(suffix).and_then(|suffix| suffix.text);
                if let Some(node) = self.nodes.get_mut(node as usize) {
                    node.suffix = suffix;
                    node.text = node.text.or(text);
                }
            }
        }
    }

    /// Give the nodes at which a stretch without a branch begins where it ends. Those within one get none: after a comparison that failed
    /// they are gone through one by one, and each byte is looked at twice at most.
    fn leaps(&mut self, by_depth: &[u32]) {
        let mut ends: Vec<Option<u32>> = vec![None; self.nodes.len()];
        for &node in by_depth.iter().rev() {
            let end = self.only_child(node).map(|child| match self.node(child).and_then(|child| child.text) {
                Some(_) => child,
                None => ends.get(child as usize).copied().flatten().unwrap_or(child),
            });
            if let Some(place) = ends.get_mut(node as usize) {
                *place = end;
            }
        }
        for &node in by_depth {
            let branches = node == ROOT || self.only_child(node).is_none();
            let children = self.node(node).map_or(0..0, |node| node.edges.clone());
            for &child in self.targets.get(children).unwrap_or_default() {
                let first = branches || self.nodes.get(child as usize).is_some_and(|child| child.text.is_some());
                let end = ends.get(child as usize).copied().flatten();
                if let Some(child) = self.nodes.get_mut(child as usize).filter(|_| first) {
                    child.leap = end;
                }
            }
        }
    }

    fn only_child(&self, node: u32) -> Option<u32> {
        let edges = self.node(node)?.edges.clone();
        self.targets.get(edges.start).copied().filter(|_| edges.len() == 1)
    }

    fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// The beginning that is one byte longer.
    fn longer(&self, node: &Node, byte: u8) -> Option<u32> {
        let labels = self.labels.get(node.edges.clone())?;
        let place = labels.iter().position(|&label| label == byte)?;
        self.targets.get(node.edges.start + place).copied()
    }

    /// The longest beginning that ends with `byte` after `node`.
    fn after(&self, mut node: u32, byte: u8) -> u32 {
        loop {
            let Some(found) = self.node(node) else { return ROOT };
            match self.longer(found, byte) {
                Some(next) => return next,
                None if node == ROOT => return ROOT,
                None => node = found.suffix,
            }
        }
    }

    /// Where the stretch without a branch leads that begins at `node`, where `text` goes on with all of it; with its bytes.
    fn leap(&self, node: &Node, text: &[u8]) -> Option<(u32, usize)> {
        let end = node.leap?;
        let length = self.node(end)?.depth - node.depth;
        let start = node.example + node.depth;
        (text.get(..length)? == self.texts.get(start..start + length)?).then_some((end, length))
    }

    /// From the left, the longest at each place, not overlapping.
    pub(crate) fn find<'t>(&self, text: &'t [u8]) -> impl Iterator<Item = Found> + use<'_, 't> {
        let mut at = 0;
        core::iter::from_fn(move || {
            let found = self.next(text, at)?;
            at = found.end;
            Some(found)
        })
    }

    /// The first that begins at `from` or later.
    fn next(&self, text: &[u8], from: usize) -> Option<Found> {
        let mut best: Option<Found> = None;
        let mut node = ROOT;
        let mut at = from;
        loop {
            if node == ROOT {
                at += self.skip(text.get(at..).unwrap_or_default());
            }
            let rest = text.get(at..).unwrap_or_default();
            let Some(&byte) = rest.first() else { return best };
            let (next, length) = self.leap(self.node(node)?, rest).unwrap_or_else(|| (self.after(node, byte), 1));
            node = next;
            at += length;
            let reached = self.node(node)?;
            if let Some((length, id)) = reached.text {
                let start = at - length;
                if best.is_none_or(|best| start <= best.start) {
                    best = Some(Found { start, end: at, id });
                }
            }
            // What is still open begins later than the best that was found.
            if best.is_some_and(|best| at - reached.depth > best.start) {
                return best;
            }
            // Nothing is open.
            if reached.edges.is_empty() && best.is_some() {
                return best;
            }
        }
    }

    /// How many bytes begin no text.
    fn skip(&self, text: &[u8]) -> usize {
        let begins = |&byte: &u8| self.begins.get(usize::from(byte)).copied().unwrap_or(false);
        text.iter().position(begins).unwrap_or(text.len())
    }
}
