//! `NativeEngine`: one opened artifact.

use std::collections::BTreeMap;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList, PyMemoryView, PySlice, PyString};
use slm2_core::{Error, GrowingText, Profile, SpecialPolicy, StreamDecoder, TokenId, Tokenizer};

use crate::arguments::{self, Ids};
use crate::arrays;
use crate::batch;
use crate::errors;
use crate::generation::NativeGeneratedText;
use crate::held::{self, Held, PyArtifact};
use crate::integers::Integers;
use crate::prompt::NativeAssembly;
use crate::reply::NativeReply;
use crate::sampler::{self, NativeGenerator, NativeSampler};
use crate::scratches::{Scratches, Workshop};
use crate::session::NativeSession;
use crate::stream::NativeStream;
use crate::template::NativeComposition;
use crate::text::{NativeChunks, NativeText, Shared};
use crate::values;

/// The engine in Rust: one opened artifact. See `slm2.engine.Engine`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeEngine {
    pub(crate) artifact: Arc<PyArtifact>,
    pub(crate) scratches: Arc<Scratches>,
    pub(crate) integers: Arc<Integers>,
}

/// Shorter text is encoded sooner than the interpreter's lock is given away and taken again.
pub(crate) const DETACHED: usize = 4096;

impl NativeEngine {
    fn over(py: Python<'_>, data: Held, max_pretoken: u64) -> PyResult<Self> {
        let opened = py.detach(|| held::open(data, max_pretoken));
        let (scratches, artifact) = opened.map_err(|error| errors::of_core(py, &error, None))?;
        Ok(Self { artifact: Arc::new(artifact), scratches: Arc::new(scratches), integers: Arc::default() })
    }

    /// Do something with a text of the caller in a workshop, without the interpreter's lock where it may take long; and with what that
    /// left in the workshop, under the lock.
    fn work<T: Send, R>(
        &self,
        data: &Bound<'_, PyAny>,
        work: impl FnOnce(&Tokenizer<'_>, &[u8], &mut Workshop) -> Result<T, Error> + Send,
        finish: impl FnOnce(T, &Workshop) -> PyResult<R>,
    ) -> PyResult<R> {
        let py = data.py();
        let text = arguments::text("data", data)?;
        let done = self.scratches.with(|workshop| {
            let work = || work(&Tokenizer::new(&self.artifact), &text, workshop);
            let done = if text.len() < DETACHED { work() } else { py.detach(work) };
            finish(done.map_err(|error| errors::of_core(py, &error, None))?, workshop)
        });
        done.map_err(|error| errors::of_core(py, &error, None))?
    }

    /// Do something with the ids of a text.
    pub(crate) fn ids<R>(
        &self,
        data: &Bound<'_, PyAny>,
        profile: Profile,
        finish: impl FnOnce(&[TokenId]) -> PyResult<R>,
    ) -> PyResult<R> {
        let encode = |tokenizer: &Tokenizer<'_>, text: &[u8], workshop: &mut Workshop| {
            tokenizer.encode_into(text, profile, &mut workshop.scratch, &mut workshop.ids)
        };
        self.work(data, encode, |(), workshop| finish(&workshop.ids))
    }

    fn trusted_ids<R>(
        &self,
        data: &Bound<'_, PyAny>,
        profile: Profile,
        finish: impl FnOnce(&[TokenId]) -> PyResult<R>,
    ) -> PyResult<R> {
        let encode = |tokenizer: &Tokenizer<'_>, text: &[u8], workshop: &mut Workshop| {
            tokenizer.encode_trusted(text, profile, &mut workshop.scratch)
        };
        self.work(data, encode, |ids, _| finish(&ids))
    }

    /// Do something with ids of the caller, and with memory for bytes.
    fn with_ids<'py, T>(
        &self,
        ids: &Bound<'py, PyAny>,
        work: impl FnOnce(&Ids<'py>, &mut Vec<u8>) -> PyResult<T>,
    ) -> PyResult<T> {
        let done = self.scratches.with(|workshop| {
            let ids = Ids::within(mem::take(&mut workshop.numbers), ids)?;
            let done = work(&ids, &mut workshop.bytes);
            workshop.numbers = ids.numbers;
            done
        });
        done.map_err(|error| errors::of_core(ids.py(), &error, None))?
    }

    /// Append the bytes of the tokens, without the interpreter's lock where it may take long.
    fn decode_into(
        &self,
        py: Python<'_>,
        ids: impl ExactSizeIterator<Item = u32> + Send,
        special: SpecialPolicy,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let short = ids.len() < DETACHED;
        let decode = || Tokenizer::new(&self.artifact).decode_into(ids, special, bytes);
        if short { decode() } else { py.detach(decode) }
    }

    /// The ids of each text in a form of Python's.
    fn batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        profile: &Bound<'_, PyAny>,
        threads: usize,
        form: impl Fn(&[TokenId]) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let profile = arguments::profile(profile)?;
        let py = texts.py();
        let texts = texts.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let texts = texts.iter().map(|text| arguments::text("texts", text)).collect::<PyResult<Vec<_>>>()?;
        let done = py.detach(|| batch::encode(&self.artifact, &self.scratches, &texts, profile, threads));
        let lists = done.map_err(|error| errors::of_core(py, &error, None))?;
        PyList::new(py, lists.iter().map(|ids| form(ids)).collect::<PyResult<Vec<_>>>()?)
    }
}

#[pymethods]
impl NativeEngine {
    #[new]
    fn new(data: &Bound<'_, PyAny>, max_pretoken: u64) -> PyResult<Self> {
        let py = data.py();
        let bytes = arguments::bytes("data", data)?;
        Self::over(py, Held::Python(bytes), max_pretoken)
    }

    /// The same of a file, which is read without a copy in Python's memory. Its errors are those of Python's `open` and `read`.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)] // it is made for the call
    fn of_file(py: Python<'_>, path: PathBuf, max_pretoken: u64) -> PyResult<Self> {
        let data = py.detach(|| held::read(&path)).map_err(|error| errors::of_system(&path, &error))?;
        Self::over(py, data, max_pretoken)
    }

    /// The longest piece and run of marks that it encodes, in bytes.
    #[getter]
    fn max_pretoken(&self) -> usize {
        self.scratches.max_pretoken()
    }

    /// Which engine this is.
    #[getter]
    #[allow(clippy::unused_self)] // a property, as the protocol has it
    fn name(&self) -> &'static str {
        "native"
    }

    /// Of the artifact.
    #[getter]
    fn contract_version(&self) -> u32 {
        self.artifact.contract_version()
    }

    /// Plain tokens have the ids below it.
    #[getter]
    fn vocabulary_size(&self) -> u32 {
        self.artifact.vocabulary_size()
    }

    /// The lowest id above which no id has a token.
    #[getter]
    fn token_limit(&self) -> u32 {
        self.artifact.token_limit()
    }

    /// SHA-256 of the file, hex.
    #[getter]
    fn file_digest(&self) -> String {
        self.artifact.file_digest()
    }

    /// SHA-256 of the behaviour, hex.
    #[getter]
    fn semantic_digest(&self) -> String {
        self.artifact.semantic_digest()
    }

    /// Id and text of each special token, ids rising.
    #[getter]
    fn special_tokens<'py>(&self, py: Python<'py>) -> Vec<(u32, Bound<'py, PyBytes>)> {
        self.artifact.special_tokens().map(|(id, text)| (id, PyBytes::new(py, text))).collect()
    }

    /// The template program as the artifact holds it; `None` where it has none.
    #[getter]
    fn template_section<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.artifact.template_section().map(|section| PyBytes::new(py, section))
    }

    /// What the compiler recorded of the sources.
    #[getter]
    fn provenance(&self) -> BTreeMap<&str, &str> {
        self.artifact.provenance().collect()
    }

    /// Ids of text, no byte of which can become a special token.
    fn encode<'py>(&self, data: &Bound<'py, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyList>> {
        self.ids(data, arguments::profile(profile)?, |ids| self.integers.list(data.py(), ids))
    }

    /// The same ids as little-endian u32.
    fn encode_u32<'py>(&self, data: &Bound<'py, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        self.ids(data, arguments::profile(profile)?, |ids| u32_bytes(data.py(), ids))
    }

    /// The same ids as an array of `NumPy`.
    fn encode_array<'py>(&self, data: &Bound<'py, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.ids(data, arguments::profile(profile)?, |ids| arrays::array(data.py(), ids))
    }

    /// Write the same ids to the beginning of `out`; how many they are.
    fn encode_into(
        &self,
        data: &Bound<'_, PyAny>,
        profile: &Bound<'_, PyAny>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let py = data.py();
        self.ids(data, arguments::profile(profile)?, |ids| {
            let room = out.len()?;
            if room < ids.len() {
                let fields = PyDict::new(py);
                fields.set_item("needed", ids.len())?;
                fields.set_item("found", room)?;
                return Err(errors::exception("output_too_small", &fields));
            }
            // Through the view, since the stable interface of Python 3.10 shows no memory of others.
            let numbers = PyMemoryView::from(u32_bytes(py, ids)?.as_any())?.call_method1("cast", ("I",))?;
            out.set_item(PySlice::new(py, 0, isize::try_from(ids.len())?, 1), numbers)?;
            Ok(ids.len())
        })
    }

    /// The ids of each text, in their order.
    fn encode_batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        profile: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        self.batch(texts, profile, threads, |ids| Ok(self.integers.list(texts.py(), ids)?.into_any()))
    }

    /// The same ids as arrays of `NumPy`.
    fn encode_batch_arrays<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        profile: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        self.batch(texts, profile, threads, |ids| arrays::array(texts.py(), ids))
    }

    /// How many ids text has.
    fn count(&self, data: &Bound<'_, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<usize> {
        let profile = arguments::profile(profile)?;
        let count = |tokenizer: &Tokenizer<'_>, text: &[u8], workshop: &mut Workshop| {
            tokenizer.count(text, profile, &mut workshop.scratch)
        };
        self.work(data, count, |count, _| Ok(count))
    }

    /// How many, where they are not more than `limit`.
    fn count_until(
        &self,
        data: &Bound<'_, PyAny>,
        profile: &Bound<'_, PyAny>,
        limit: usize,
    ) -> PyResult<Option<usize>> {
        let profile = arguments::profile(profile)?;
        let count = |tokenizer: &Tokenizer<'_>, text: &[u8], workshop: &mut Workshop| {
            tokenizer.count_until(text, profile, limit, &mut workshop.scratch)
        };
        self.work(data, count, |count, _| Ok(count))
    }

    /// `(id, start, end)`: each id with the range of `data` that it came from.
    fn encode_spans(
        &self,
        data: &Bound<'_, PyAny>,
        profile: &Bound<'_, PyAny>,
        unit: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<(u32, usize, usize)>> {
        let (profile, unit) = (arguments::profile(profile)?, arguments::unit(unit)?);
        let encode = |tokenizer: &Tokenizer<'_>, text: &[u8], workshop: &mut Workshop| {
            let spans = tokenizer.encode_spans(text, profile, unit, &mut workshop.scratch)?;
            Ok(spans.iter().map(|span| (span.id.get(), span.start, span.end)).collect())
        };
        self.work(data, encode, |spans, _| Ok(spans))
    }

    /// The byte after each piece of `data`, which is not normalised first.
    fn piece_ends(&self, data: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let find = |tokenizer: &Tokenizer<'_>, text: &[u8], workshop: &mut Workshop| {
            tokenizer.piece_ends(text, &workshop.scratch)
        };
        self.work(data, find, |ends, _| Ok(ends))
    }

    /// Ids of text in which the text of a special token is that token.
    fn encode_trusted<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        profile: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        self.trusted_ids(data, arguments::profile(profile)?, |ids| self.integers.list(data.py(), ids))
    }

    /// The same ids as an array of `NumPy`.
    fn encode_trusted_array<'py>(
        &self,
        data: &Bound<'py, PyAny>,
        profile: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.trusted_ids(data, arguments::profile(profile)?, |ids| arrays::array(data.py(), ids))
    }

    /// `(start, end, id)` of the texts of special tokens in `data`: leftmost, longest, not overlapping.
    fn find_special(&self, data: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize, u32)>> {
        let find = |tokenizer: &Tokenizer<'_>, text: &[u8], _: &mut Workshop| {
            Ok(tokenizer.find_special(text).iter().map(|found| (found.start, found.end, found.id.get())).collect())
        };
        self.work(data, find, |found, _| Ok(found))
    }

    /// A text that arrives in parts, before its first byte.
    fn chunks(&self, profile: &Bound<'_, PyAny>) -> PyResult<NativeChunks> {
        Ok(NativeChunks::new(Arc::clone(&self.artifact), Arc::clone(&self.scratches), arguments::profile(profile)?))
    }

    /// A text that grows, empty.
    fn growing_text(&self, profile: &Bound<'_, PyAny>) -> PyResult<NativeText> {
        let text = GrowingText::new(arguments::profile(profile)?);
        let shared = Shared::new(Arc::clone(&self.artifact), Arc::clone(&self.scratches), text);
        Ok(NativeText::new(shared, Arc::clone(&self.integers)))
    }

    /// The bytes of the tokens one after the other.
    fn decode<'py>(&self, ids: &Bound<'py, PyAny>, special: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let special = arguments::special(special)?;
        self.with_ids(ids, |ids, bytes| {
            let done = self.decode_into(py, ids.numbers.iter().copied(), special, bytes);
            done.map(|()| PyBytes::new(py, bytes)).map_err(|error| ids.exception(py, &error, 0))
        })
    }

    /// The text of the tokens, which is that of a stream of them all.
    fn decode_text<'py>(&self, ids: &Bound<'py, PyAny>, special: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let py = ids.py();
        let special = arguments::special(special)?;
        self.with_ids(ids, |ids, bytes| {
            // A structural id inside a scalar value is refused, which the bytes alone do not show where it has none.
            let numbers = &ids.numbers;
            let plain = |&id: &u32| id < self.artifact.vocabulary_size();
            if special != SpecialPolicy::Skip || numbers.iter().all(plain) {
                let done = self.decode_into(py, numbers.iter().copied(), special, bytes);
                if let Some(text) = done.ok().and_then(|()| PyString::from_bytes(py, bytes).ok()) {
                    return Ok(text);
                }
            }
            let text = py.detach(|| {
                let mut stream = StreamDecoder::new(special);
                let text = stream.push(&Tokenizer::new(&self.artifact), numbers)?;
                stream.finish().map(|()| text)
            });
            text.map(|text| PyString::new(py, &text)).map_err(|error| ids.exception(py, &error, 0))
        })
    }

    /// The same from ids as little-endian u32.
    fn decode_u32<'py>(&self, ids: &Bound<'py, PyAny>, special: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let special = arguments::special(special)?;
        let packed = arguments::bytes("ids", ids)?;
        let ids = packed.chunks_exact(4).map(|id| id.first_chunk().map_or(0, |id| u32::from_le_bytes(*id)));
        let done = self.scratches.with(|workshop| {
            self.decode_into(py, ids, special, &mut workshop.bytes)?;
            Ok(PyBytes::new(py, &workshop.bytes))
        });
        done.and_then(|bytes| bytes).map_err(|error| errors::of_core(py, &error, None))
    }

    /// Bytes of a plain token or text of a special one.
    fn token_bytes<'py>(&self, token_id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = token_id.py();
        let ids = Ids::of_one(token_id)?;
        let number = ids.numbers.first().copied().unwrap_or(u32::MAX);
        let bytes = Tokenizer::new(&self.artifact).token_bytes(number);
        bytes.map(|bytes| PyBytes::new(py, bytes)).map_err(|error| ids.exception(py, &error, 0))
    }

    /// The plain token that has exactly these bytes.
    fn token_id(&self, data: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let bytes = arguments::bytes("data", data)?;
        Ok(Tokenizer::new(&self.artifact).token_id(&bytes).map(TokenId::get))
    }

    /// What the template makes of a request.
    fn compose(engine: Bound<'_, Self>, request: &Bound<'_, PyAny>) -> PyResult<NativeComposition> {
        NativeComposition::new(engine, values::json(request)?)
    }

    /// A prompt within its budget.
    fn assemble(
        engine: Bound<'_, Self>,
        request: &Bound<'_, PyAny>,
        profile: &Bound<'_, PyAny>,
        on_special: &Bound<'_, PyAny>,
    ) -> PyResult<NativeAssembly> {
        NativeAssembly::new(engine, values::json(request)?, profile, arguments::on_special(on_special)?)
    }

    /// A reader of one reply, which begins in the state in which a prompt ended.
    fn reply_reader(&self, py: Python<'_>, state: &str) -> PyResult<NativeReply> {
        NativeReply::new(py, Arc::clone(&self.artifact), state)
    }

    /// An empty conversation.
    fn session(
        engine: &Bound<'_, Self>,
        profile: &Bound<'_, PyAny>,
        tools: &Bound<'_, PyAny>,
        enable_thinking: Option<bool>,
        preserve_thinking: bool,
    ) -> PyResult<NativeSession> {
        NativeSession::new(engine, profile, tools, enable_thinking, preserve_thinking)
    }

    /// The session of a checkpoint.
    fn restore_session(engine: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<NativeSession> {
        NativeSession::restored(engine, data)
    }

    /// A sampler at the beginning of its stream, over rows of `width` logits.
    fn sampler(&self, config: &Bound<'_, PyAny>, prompt: &Bound<'_, PyAny>, width: usize) -> PyResult<NativeSampler> {
        NativeSampler::new(config, &Ids::of_iterable(prompt)?, width, self.artifact.token_limit() as usize)
    }

    /// A generator by itself.
    #[allow(clippy::unused_self)] // as the protocol has it
    fn generator(
        &self,
        rng: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        stream: &Bound<'_, PyAny>,
    ) -> PyResult<NativeGenerator> {
        NativeGenerator::new(rng, seed, stream)
    }

    /// exp, log or log1p of each of some little-endian float64.
    #[allow(clippy::unused_self, clippy::needless_pass_by_value)] // as the protocol has it
    fn portable<'py>(&self, function: &Bound<'py, PyAny>, values: PyBackedBytes) -> PyResult<Bound<'py, PyBytes>> {
        sampler::portable(function.py(), function, &values)
    }

    /// The text of ids that are drawn, until something of a configuration ends it.
    fn generated_text(&self, config: &Bound<'_, PyAny>, special: &Bound<'_, PyAny>) -> PyResult<NativeGeneratedText> {
        NativeGeneratedText::new(Arc::clone(&self.artifact), config, arguments::special(special)?)
    }

    /// A fresh streaming decoder.
    fn stream_decoder(&self, special: &Bound<'_, PyAny>) -> PyResult<NativeStream> {
        Ok(NativeStream::new(Arc::clone(&self.artifact), arguments::special(special)?))
    }
}

/// Ids as little-endian u32.
pub(crate) fn u32_bytes<'py>(py: Python<'py>, ids: &[TokenId]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 4 * ids.len(), |bytes| {
        bytes.chunks_exact_mut(4).zip(ids).for_each(|(to, id)| to.copy_from_slice(&id.get().to_le_bytes()));
        Ok(())
    })
}
