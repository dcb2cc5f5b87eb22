//! Where a text of a prompt comes from: a field of the request, its class, and its name in reports (contract/prompt.md, P-2, P-52).

use alloc::format;
use alloc::string::{String, ToString};

use super::escape::Escaped;
use super::request::Request;
use crate::template::{InList, Source};

/// Trust classes, the highest first.
pub(super) const TRUST: [&str; 4] = ["program", "policy", "application", "untrusted"];

/// The parts of a request that tokens are counted by, and the program's own.
pub(super) const PARTS: [&str; 8] =
    ["policy", "user_turn", "steps", "local_state", "retrieved", "history", "tools", "program"];
pub(super) const PROGRAM: usize = 7;

/// A text of the request. Facts and passages by their rank in the prompt, messages by their place in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Policy,
    FactName(u32),
    FactValue(u32),
    ChunkId(u32),
    ChunkSource(u32),
    ChunkText(u32),
    /// The index in it stands for the place in `history`.
    History(Source),
    UserTurn,
    /// The index in it stands for the place in `steps`.
    Steps(Source),
    Tool(u32),
    /// What stands for turns that were taken out.
    HistoryMarker,
    /// The template's text about tools.
    Tools,
    /// The head of the reply.
    Generation,
}

/// A text, and whether it is the caller's or a literal that stands beside or for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) place: Place,
    pub(super) is_literal: bool,
}

impl Origin {
    pub(super) const fn given(place: Place) -> Self {
        Self { place, is_literal: false }
    }

    pub(super) const fn literal(place: Place) -> Self {
        Self { place, is_literal: true }
    }

    /// Greater for a lower class.
    pub(super) const fn class(self) -> u8 {
        match self.place {
            _ if self.is_literal => 0,
            Place::Policy => 1,
            Place::FactName(_) | Place::FactValue(_) | Place::Tool(_) => 2,
            _ => 3,
        }
    }

    /// The source that a report names: `program` for a literal.
    pub(super) fn source(self, request: &Request) -> String {
        if self.is_literal { "program".to_string() } else { self.place.source(request) }
    }

    /// The item that a token of it counts for (P-53).
    pub(super) fn item(self, request: &Request) -> String {
        if self.is_literal { "program".to_string() } else { self.place.item(request) }
    }

    /// The same as an index of [`PARTS`].
    pub(super) const fn part(self) -> usize {
        if self.is_literal { PROGRAM } else { self.place.part() }
    }
}

impl Place {
    /// The part of the request, as an index of [`PARTS`].
    pub(super) const fn part(self) -> usize {
        match self {
            Self::Policy => 0,
            Self::UserTurn => 1,
            Self::Steps(_) => 2,
            Self::FactName(_) | Self::FactValue(_) => 3,
            Self::ChunkId(_) | Self::ChunkSource(_) | Self::ChunkText(_) => 4,
            Self::History(_) | Self::HistoryMarker => 5,
            Self::Tool(_) | Self::Tools => 6,
            Self::Generation => PROGRAM,
        }
    }

    /// The path of the field: `retrieved[kb-7].text`.
    pub(super) fn source(self, request: &Request) -> String {
        match self {
            Self::Policy => "policy".to_string(),
            Self::UserTurn => "user_turn".to_string(),
            Self::HistoryMarker => "history".to_string(),
            Self::Tools => "tools".to_string(),
            Self::Generation => "generation_prompt".to_string(),
            Self::Tool(index) => format!("tools[{index}]"),
            Self::FactName(_) => format!("{}.name", self.item(request)),
            Self::FactValue(_) => format!("{}.value", self.item(request)),
            Self::ChunkId(_) => format!("{}.id", self.item(request)),
            Self::ChunkSource(_) => format!("{}.source", self.item(request)),
            Self::ChunkText(_) => format!("{}.text", self.item(request)),
            Self::History(source) => format!("history{}", InList(source)),
            Self::Steps(source) => format!("steps{}", InList(source)),
        }
    }

    /// The text that was escaped, where it is one.
    pub(super) fn escaped(self, request: &Request) -> Option<&Escaped> {
        match self {
            Self::FactValue(rank) => request.local_state.get(rank as usize).map(|fact| &fact.value),
            Self::ChunkText(rank) => request.retrieved.get(rank as usize).map(|chunk| &chunk.text),
            _ => None,
        }
    }

    /// One place for all of an item.
    pub(super) const fn of_item(self) -> Self {
        match self {
            Self::FactName(rank) | Self::FactValue(rank) => Self::FactName(rank),
            Self::ChunkId(rank) | Self::ChunkSource(rank) | Self::ChunkText(rank) => Self::ChunkId(rank),
            Self::History(source) => Self::History(source.of_message()),
            Self::Steps(source) => Self::Steps(source.of_message()),
            other => other,
        }
    }

    /// The item of the request: `retrieved[kb-7]`.
    pub(super) fn item(self, request: &Request) -> String {
        match self {
            Self::FactName(rank) | Self::FactValue(rank) => {
                let name = request.local_state.get(rank as usize).map_or("", |fact| &fact.name);
                format!("local_state[{name}]")
            }
            Self::ChunkId(rank) | Self::ChunkSource(rank) | Self::ChunkText(rank) => {
                let id = request.retrieved.get(rank as usize).map_or("", |chunk| &chunk.id);
                format!("retrieved[{id}]")
            }
            Self::History(source) => format!("history[{}]", source.message().unwrap_or_default()),
            Self::Steps(source) => format!("steps[{}]", source.message().unwrap_or_default()),
            _ => self.source(request),
        }
    }
}
