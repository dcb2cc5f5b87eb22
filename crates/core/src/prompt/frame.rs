//! What the template puts around the system text and the user's, so that their tokens can be counted without the rest.

use alloc::string::String;
use alloc::vec::Vec;

use super::rendering::segments;
use crate::error::Error;
use crate::template::{Composition, Source, Template, What};

/// The text between two structural tokens before and after a content.
#[derive(Default)]
pub(super) struct Frame {
    head: String,
    tail: String,
}

impl Frame {
    /// A content's parts in their frame.
    pub(super) fn around(&self, parts: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
        [self.head.clone()].into_iter().chain(parts).chain([self.tail.clone()])
    }
}

/// Those of a conversation.
pub(super) struct Frames {
    pub(super) system: Frame,
    pub(super) user: Frame,
}

/// A content that no template leaves out or strips.
pub(super) const PLACEHOLDER: &str = ".";

impl Frames {
    /// From a conversation in which both contents are [`PLACEHOLDER`]; `user` is the index of the user message.
    pub(super) fn of(template: &Template<'_>, composition: &Composition, user: usize) -> Result<Self, Error> {
        let frame = |index| {
            frame(template, composition, index).ok_or_else(|| {
                let expected = "one whose template shows system and user texts";
                Error::invalid_value("artifact", expected, "another")
            })
        };
        Ok(Self { system: frame(0)?, user: frame(user)? })
    }
}

fn frame(template: &Template<'_>, composition: &Composition, index: usize) -> Option<Frame> {
    let is_content = |what| matches!(what, What::Field(Source::Content(of), ..) if of as usize == index);
    let segment = segments(&composition.items).find(|segment| segment.iter().any(|item| is_content(item.what)))?;
    let place = segment.iter().position(|item| is_content(item.what))?;
    let text = |items: &[crate::template::Item]| {
        let data: Vec<u8> = items.iter().flat_map(|item| template.data(composition, item)).copied().collect();
        String::from_utf8_lossy(&data).into_owned()
    };
    Some(Frame { head: text(segment.get(..place)?), tail: text(segment.get(place + 1..)?) })
}
