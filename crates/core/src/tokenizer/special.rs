//! Where the text of special tokens stands in a text: an Aho-Corasick automaton (Aho and Corasick 1975) that reports the leftmost, of
//! those the longest, and goes through a text once, however many texts of special tokens there are in it.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

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
    /// Node and byte to the node that is one byte longer.
    edges: BTreeMap<(u32, u8), u32>,
    /// Whether a text begins with this byte.
    begins: [bool; 256],
}

struct Node {
    /// Bytes of the beginning.
    depth: usize,
    /// The longest proper suffix that is a beginning too.
    suffix: u32,
    /// The longest text that this ends with, with its length.
    text: Option<(usize, TokenId)>,
    /// One of its edges: most nodes have no other.
    edge: Option<(u8, u32)>,
}

impl SpecialAutomaton {
    pub(crate) fn new(tokens: &SpecialTokens) -> Self {
        let mut automaton = Self {
            nodes: vec![Node { depth: 0, suffix: ROOT, text: None, edge: None }],
            edges: BTreeMap::new(),
            begins: [false; 256],
        };
        for token in tokens.iter() {
            automaton.add(&token.text, token.id);
        }
        automaton.link();
        automaton
    }

    fn add(&mut self, text: &[u8], id: TokenId) {
        let mut node = ROOT;
        for (&byte, depth) in text.iter().zip(1..) {
            // At most 4,096 texts of 255 bytes.
            let next = u32::try_from(self.nodes.len()).unwrap_or(ROOT);
            node = *self.edges.entry((node, byte)).or_insert(next);
            if node == next {
                self.nodes.push(Node { depth, suffix: ROOT, text: None, edge: None });
            }
        }
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.text = Some((text.len(), id));
        }
        if let Some(begins) = text.first().and_then(|&byte| self.begins.get_mut(usize::from(byte))) {
            *begins = true;
        }
    }

    /// Give each node its suffix and the text that it ends with; nodes of less depth come first.
    fn link(&mut self) {
        let mut edges: Vec<_> = self.edges.iter().map(|(&(parent, byte), &node)| (parent, byte, node)).collect();
        edges.sort_by_key(|&(parent, ..)| self.node(parent).map_or(0, |node| node.depth));
        for (parent, byte, node) in edges {
            let suffix = if parent == ROOT {
                ROOT
            } else {
                self.after(self.node(parent).map_or(ROOT, |parent| parent.suffix), byte)
            };
            let text = self.node(suffix).and_then(|suffix| suffix.text);
            if let Some(node) = self.nodes.get_mut(node as usize) {
                node.suffix = suffix;
                node.text = node.text.or(text);
            }
            if let Some(parent) = self.nodes.get_mut(parent as usize) {
                parent.edge = Some((byte, node));
            }
        }
    }

    fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// The longest beginning that ends with `byte` after `node`.
    fn after(&self, mut node: u32, byte: u8) -> u32 {
        loop {
            let edge = self.node(node).and_then(|node| node.edge).filter(|&(label, _)| label == byte);
            match edge.map(|(_, next)| next).or_else(|| self.edges.get(&(node, byte)).copied()) {
                Some(next) => return next,
                None if node == ROOT => return ROOT,
                None => node = self.node(node).map_or(ROOT, |node| node.suffix),
            }
        }
    }

    /// From the left, the longest at each place, not overlapping.
    pub(crate) fn find(&self, text: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(next) = self.next(text, at) {
            found.push(next);
            at = next.end;
        }
        found
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
            let Some(&byte) = text.get(at) else { return best };
            node = self.after(node, byte);
            at += 1;
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
        }
    }

    /// How many bytes begin no text.
    fn skip(&self, text: &[u8]) -> usize {
        let begins = |&byte: &u8| self.begins.get(usize::from(byte)).copied().unwrap_or(false);
        text.iter().position(begins).unwrap_or(text.len())
    }
}
