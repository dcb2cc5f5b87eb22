//! `NativeEngine`: one opened artifact.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use slm2_core::{Artifact, Profile, Scratch, TokenId, Tokenizer};

use crate::arguments::{self, Ids};
use crate::errors;
use crate::sampler::{self, NativeGenerator, NativeSampler};
use crate::stream::NativeStream;

/// The engine in Rust: one opened artifact. See `slm2.engine.Engine`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeEngine {
    artifact: Arc<Artifact<PyBackedBytes>>,
    /// Memory that calls work in, as many as there were calls at once.
    scratches: Mutex<Vec<Scratch>>,
}

impl NativeEngine {
    /// Ids of bytes of the caller, without the interpreter's lock.
    fn ids(&self, data: &Bound<'_, PyAny>, profile: Profile) -> PyResult<Vec<TokenId>> {
        self.detached(data, |tokenizer, text| {
            let mut scratch = self.take_scratch();
            let mut ids = Vec::with_capacity(text.len() / 4 + 1);
            tokenizer.encode_into(text, profile, &mut scratch, &mut ids);
            self.give_back(scratch);
            ids
        })
    }

    /// A scratch that no call uses, or a fresh one. It never waits: in a process that was forked while another thread held
    /// the lock, nobody would ever let it go.
    fn take_scratch(&self) -> Scratch {
        self.scratches.try_lock().ok().and_then(|mut free| free.pop()).unwrap_or_default()
    }

    fn give_back(&self, scratch: Scratch) {
        if let Ok(mut free) = self.scratches.try_lock() {
            free.push(scratch);
        }
    }

    /// Do something with bytes of the caller, without the interpreter's lock.
    fn detached<T: Send>(
        &self,
        data: &Bound<'_, PyAny>,
        work: impl FnOnce(Tokenizer<'_>, &[u8]) -> T + Send,
    ) -> PyResult<T> {
        let bytes = arguments::bytes("data", data)?;
        Ok(data.py().detach(|| work(Tokenizer::new(&self.artifact), &bytes)))
    }
}

#[pymethods]
impl NativeEngine {
    #[new]
    fn new(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        let bytes = arguments::bytes("data", data)?;
        let artifact = py.detach(|| Artifact::from_bytes(bytes));
        artifact
            .map(|artifact| Self { artifact: Arc::new(artifact), scratches: Mutex::default() })
            .map_err(|error| errors::of_core(py, &error, None))
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

    /// What the compiler recorded of the sources.
    #[getter]
    fn provenance(&self) -> BTreeMap<&str, &str> {
        self.artifact.provenance().collect()
    }

    /// Ids of text, no byte of which can become a special token.
    fn encode<'py>(&self, data: &Bound<'py, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.ids(data, arguments::profile(profile)?)?;
        PyList::new(data.py(), ids.into_iter().map(TokenId::get))
    }

    /// The same ids as little-endian u32.
    fn encode_u32<'py>(&self, data: &Bound<'py, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self.ids(data, arguments::profile(profile)?)?;
        PyBytes::new_with(data.py(), 4 * ids.len(), |bytes| {
            bytes.chunks_exact_mut(4).zip(ids).for_each(|(to, id)| to.copy_from_slice(&id.get().to_le_bytes()));
            Ok(())
        })
    }

    /// `(id, start, end)`: each id with the bytes of `data` that it came from.
    fn encode_spans(&self, data: &Bound<'_, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Vec<(u32, usize, usize)>> {
        let profile = arguments::profile(profile)?;
        self.detached(data, |tokenizer, text| {
            tokenizer.encode_spans(text, profile).iter().map(|span| (span.id.get(), span.start, span.end)).collect()
        })
    }

    /// Ids of text in which the text of a special token is that token.
    fn encode_trusted(&self, data: &Bound<'_, PyAny>, profile: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let profile = arguments::profile(profile)?;
        self.detached(data, |tokenizer, text| numbers(tokenizer.encode_trusted(text, profile)))
    }

    /// `(start, end, id)` of the texts of special tokens in `data`: leftmost, longest, not overlapping.
    fn find_special(&self, data: &Bound<'_, PyAny>) -> PyResult<Vec<(usize, usize, u32)>> {
        self.detached(data, |tokenizer, text| {
            tokenizer.find_special(text).iter().map(|found| (found.start, found.end, found.id.get())).collect()
        })
    }

    /// The bytes of the tokens one after the other.
    fn decode<'py>(&self, ids: &Bound<'py, PyAny>, special: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let py = ids.py();
        let special = arguments::special(special)?;
        let ids = Ids::of_iterable(ids)?;
        let bytes = py.detach(|| Tokenizer::new(&self.artifact).decode(&ids.numbers, special));
        bytes.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| ids.exception(py, &error, 0))
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
        self.detached(data, |tokenizer, bytes| tokenizer.token_id(bytes).map(TokenId::get))
    }

    /// A sampler at the beginning of its stream, over rows of `width` logits.
    fn sampler(&self, config: &Bound<'_, PyAny>, prompt: &Bound<'_, PyAny>, width: usize) -> PyResult<NativeSampler> {
        let prompt = Ids::of_iterable(prompt)?;
        NativeSampler::new(config, &prompt.numbers, width, self.artifact.token_limit() as usize)
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

    /// A fresh streaming decoder.
    fn stream_decoder(&self, special: &Bound<'_, PyAny>) -> PyResult<NativeStream> {
        Ok(NativeStream::new(Arc::clone(&self.artifact), arguments::special(special)?))
    }
}

fn numbers(ids: Vec<TokenId>) -> Vec<u32> {
    ids.into_iter().map(TokenId::get).collect()
}
