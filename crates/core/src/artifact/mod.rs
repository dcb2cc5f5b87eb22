//! The sealed artifact: bytes to a checked artifact (contract/artifact.md, check by check, in its order).
//!
//! Each section has a type that is made in two ways: `check` reads untrusted bytes and is called once, with sections that were
//! checked before as its arguments; `over` parts the same bytes again, later, without a check. All access is total: what
//! the checks exclude would read as zero, never panic.

mod container;
mod digest;
mod facts;
mod known;
mod layout;
mod merges;
mod normalization;
pub(crate) mod pretokenizer;
mod provenance;
mod special;
pub(crate) mod template;
mod template_checks;
mod vocabulary;
mod words;

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::JsonValue;
use crate::tokenizer::{BytePairs, Scanner, Seams, SpecialAutomaton};

pub(crate) use digest::{Digester, hex, sha256};
pub(crate) use facts::Facts;
pub(crate) use merges::{Merges, NO_RANK};
pub(crate) use normalization::{Decomposition, Normalization, NormalizationIndex, ScalarTraits};
pub(crate) use pretokenizer::Pretokenizer;
pub(crate) use special::SpecialTokens;
pub(crate) use template::Program;
pub(crate) use vocabulary::{Vocabulary, VocabularyIndex};

/// A checked artifact over bytes that it owns or borrows: a `Vec<u8>`, a `&[u8]`, a memory map, a host's buffer. The bytes must
/// not change while it lives; if they do, answers are wrong, but nothing worse.
pub struct Artifact<B> {
    data: B,
    /// The semantic digest.
    digest: [u8; 32],
    sections: Sections,
    vocabulary: VocabularyIndex,
    special: SpecialTokens,
    normalization: Option<NormalizationIndex>,
    special_automaton: SpecialAutomaton,
    scanner: Scanner,
    byte_pairs: BytePairs,
    seams: Seams,
    template: Option<Program>,
}

/// What is checked of a file once its digest was found to be right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Checks {
    /// All that contract/artifact.md asks for.
    All,
    /// What makes tables, of a file that passed them all before.
    Known,
}

/// Where the sections lie that are used after the checks.
struct Sections {
    pretokenizer: (u64, u64),
    merges: (u64, u64),
    vocabulary: (u64, u64),
    normalization: Option<(u64, u64)>,
    facts: Option<(u64, u64)>,
    provenance: (u64, u64),
    template: Option<(u64, u64)>,
}

impl<B: AsRef<[u8]>> Artifact<B> {
    /// Open an artifact: the first rule of contract/artifact.md that `data` breaks is the error.
    pub fn from_bytes(data: B) -> Result<Self, Error> {
        Self::open(data, |digest| if known::holds(digest) { Checks::Known } else { Checks::All })
    }

    /// The same with the checks that a file digest asks for.
    fn open(data: B, checks: impl Fn(&[u8]) -> Checks) -> Result<Self, Error> {
        let bytes = data.as_ref();
        let directory = container::read(bytes)?;
        let checks = checks(container::recorded_digest(bytes));
        let find =
            |kind| directory.iter().find(|section| section.kind == kind).map(|section| (section.start, section.end));
        // The directory has each of these; see `layout::MANDATORY`.
        let mandatory = |kind| find(kind).unwrap_or_default();
        let content = |(start, end)| layout::part(bytes, start, end);
        let vocabulary_size = layout::u32_from(bytes, 24).unwrap_or(0);
        let sections = Sections {
            pretokenizer: mandatory(layout::PRETOKENIZER),
            merges: mandatory(layout::MERGES),
            vocabulary: mandatory(layout::VOCABULARY),
            normalization: find(layout::NORMALIZATION),
            facts: find(layout::FACTS),
            provenance: mandatory(layout::PROVENANCE),
            template: find(layout::TEMPLATE),
        };
        let special_section = content(mandatory(layout::SPECIAL));

        let (tokens, vocabulary) = Vocabulary::check(content(sections.vocabulary), vocabulary_size, checks)?;
        let special = SpecialTokens::check(special_section, vocabulary_size)?;
        let pretokenizer = match checks {
            Checks::All => Pretokenizer::check(bytes, sections.pretokenizer.0, sections.pretokenizer.1)?,
            Checks::Known => Pretokenizer::over(content(sections.pretokenizer)),
        };
        let (merges, by_rank) = match checks {
            Checks::All => Merges::check(bytes, sections.merges.0, sections.merges.1, &tokens)?,
            Checks::Known => (Merges::over(content(sections.merges)), Vec::new()),
        };
        let normalization = sections.normalization.map(content);
        let normalization = match checks {
            Checks::All => normalization.map(Normalization::check).transpose()?,
            Checks::Known => normalization.map(Normalization::over),
        };
        if let Some(place) = sections.facts {
            facts::check(content(place), vocabulary_size)?;
        }
        provenance::check(content(sections.provenance))?;

        let template = sections.template.map(|place| Program::check(content(place), &special)).transpose()?;

        if checks == Checks::All {
            let mut semantic = digest::Semantic::new();
            semantic.section(layout::SPECIAL, special_section);
            semantic.section(layout::PRETOKENIZER, content(sections.pretokenizer));
            semantic.merges(&merges, &by_rank);
            semantic.section(layout::VOCABULARY, content(sections.vocabulary));
            semantic.section(layout::NORMALIZATION, sections.normalization.map_or(&[], content));
            semantic.section(layout::FACTS, sections.facts.map_or(&[], content));
            semantic.section(layout::TEMPLATE, sections.template.map_or(&[], content));
            check_semantic(bytes, &semantic.finish())?;
        }

        let normalization = normalization.map(|tables| tables.index());
        let scanner = Scanner::new(&pretokenizer);
        let byte_pairs = BytePairs::new(&merges, tokens, &vocabulary.of_byte);
        let seams = Seams::new(tokens);
        let special_automaton = SpecialAutomaton::new(&special);
        Ok(Self {
            sections,
            vocabulary,
            special,
            special_automaton,
            normalization,
            scanner,
            byte_pairs,
            seams,
            template,
            digest: recorded_semantic(bytes).try_into().unwrap_or_default(),
            data,
        })
    }

    /// What the contents mean.
    pub fn contract_version(&self) -> u32 {
        layout::CONTRACT_VERSION
    }

    /// Plain tokens have the ids below it.
    pub fn vocabulary_size(&self) -> u32 {
        self.vocabulary().count
    }

    /// The lowest id above which no id has a token.
    pub fn token_limit(&self) -> u32 {
        self.special.iter().last().map_or(self.vocabulary_size(), |token| token.id.get() + 1)
    }

    /// SHA-256 of the file before the digest, hex: the name of the file.
    pub fn file_digest(&self) -> String {
        hex(container::recorded_digest(self.data.as_ref()), "")
    }

    /// SHA-256 of what decides the behaviour, hex: what vectors and checkpoints bind to.
    pub fn semantic_digest(&self) -> String {
        hex(recorded_semantic(self.data.as_ref()), "")
    }

    /// Number and text of each special token, numbers rising.
    pub fn special_tokens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.special.iter().map(|token| (token.id.get(), &*token.text))
    }

    /// Key and value of each line of the provenance.
    pub fn provenance(&self) -> impl Iterator<Item = (&str, &str)> {
        provenance::entries(self.content(self.sections.provenance))
    }

    /// What is to say about the artifact as JSON: `contract_version`, `vocabulary_size`, `token_limit`, `file_digest`,
    /// `semantic_digest`, `special_tokens` (arrays of id and text, ids rising) and `provenance`.
    pub fn info_to_json(&self) -> String {
        let special = self.special_tokens().map(|(id, text)| {
            JsonValue::Array(Vec::from([id.into(), String::from_utf8_lossy(text).into_owned().into()]))
        });
        let provenance = self.provenance().map(|(key, value)| (String::from(key), value.into()));
        let members = [
            ("contract_version", self.contract_version().into()),
            ("vocabulary_size", self.vocabulary_size().into()),
            ("token_limit", self.token_limit().into()),
            ("file_digest", self.file_digest().into()),
            ("semantic_digest", self.semantic_digest().into()),
            ("special_tokens", JsonValue::array(special)),
            ("provenance", JsonValue::object(provenance)),
        ];
        JsonValue::object(members).to_json()
    }

    /// The template program as the file holds it; `None` where it has none.
    pub fn template_section(&self) -> Option<&[u8]> {
        self.sections.template.map(|place| self.content(place))
    }

    pub(crate) fn template(&self) -> Option<&Program> {
        self.template.as_ref()
    }

    pub(crate) fn vocabulary(&self) -> Vocabulary<'_> {
        Vocabulary::over(self.content(self.sections.vocabulary))
    }

    pub(crate) fn vocabulary_index(&self) -> &VocabularyIndex {
        &self.vocabulary
    }

    pub(crate) fn special(&self) -> &SpecialTokens {
        &self.special
    }

    #[cfg(test)]
    pub(crate) fn pretokenizer(&self) -> Pretokenizer<'_> {
        Pretokenizer::over(self.content(self.sections.pretokenizer))
    }

    #[cfg(test)]
    pub(crate) fn pretokenizer_section(&self) -> &[u8] {
        self.content(self.sections.pretokenizer)
    }

    pub(crate) fn special_automaton(&self) -> &SpecialAutomaton {
        &self.special_automaton
    }

    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    pub(crate) fn facts(&self) -> Facts<'_> {
        Facts::over(self.sections.facts.map_or(&[], |place| self.content(place)))
    }

    pub(crate) fn scanner(&self) -> &Scanner {
        &self.scanner
    }

    pub(crate) fn seams(&self) -> &Seams {
        &self.seams
    }

    pub(crate) fn byte_pairs(&self) -> &BytePairs {
        &self.byte_pairs
    }

    pub(crate) fn merges(&self) -> Merges<'_> {
        Merges::over(self.content(self.sections.merges))
    }

    pub(crate) fn normalization(&self) -> Option<(Normalization<'_>, &NormalizationIndex)> {
        let place = self.sections.normalization?;
        Some((Normalization::over(self.content(place)), self.normalization.as_ref()?))
    }

    fn content(&self, (start, end): (u64, u64)) -> &[u8] {
        layout::part(self.data.as_ref(), start, end)
    }
}

fn recorded_semantic(data: &[u8]) -> &[u8] {
    layout::part(data, 32, 64)
}

fn check_semantic(data: &[u8], actual: &[u8]) -> Result<(), Error> {
    let recorded = recorded_semantic(data);
    if actual == recorded {
        return Ok(());
    }
    let fields = [("recorded", hex(recorded, "").into()), ("actual", hex(actual, "").into())];
    Err(Error::new(ErrorCode::ArtifactSemanticDigest, fields))
}
