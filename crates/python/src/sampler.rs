//! `NativeSampler` and `NativeGenerator`: Sampling2.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple, PyType};
use slm2_core::sampling::{Generator, Numbers, Outcome, Sampler, SamplingConfig, Seed, math};

use crate::arguments;
use crate::errors;

/// A sampler: configuration, generator and history. See `slm2.engine.EngineSampler`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeSampler {
    /// Calls from several threads wait for each other, without the interpreter's lock.
    sampler: Mutex<Sampler>,
}

/// Id, probability, log-probability, sizes, words, deciding numbers, most probable tokens.
type Row<'py> = (u32, f64, f64, (u32, u32, u32, u32), u32, Bound<'py, PyTuple>, Vec<(u32, f64, f64)>);

impl NativeSampler {
    pub(crate) fn new<'py>(
        config: &Bound<'py, PyAny>,
        prompt: &arguments::Ids<'py>,
        width: usize,
        limit: usize,
    ) -> PyResult<Self> {
        let expected = config.getattr("max_tokens")?.extract::<usize>()?;
        Sampler::with_width(core_config(config)?, &prompt.numbers, expected, width, limit)
            .map(|sampler| Self { sampler: Mutex::new(sampler) })
            .map_err(|error| prompt.exception(config.py(), &error, 0))
    }

    fn lock(&self) -> MutexGuard<'_, Sampler> {
        self.sampler.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
#[allow(clippy::needless_pass_by_value)] // values are taken from the interpreter
impl NativeSampler {
    /// Draw an id of a row of logits.
    fn sample<'py>(
        &self,
        logits: &Bound<'py, PyAny>,
        allowed: Option<PyBackedBytes>,
        top: usize,
    ) -> PyResult<Row<'py>> {
        let py = logits.py();
        let row = float32_row(logits)?;
        let drawn = py.detach(|| {
            let mut sampler = self.lock();
            let outcome = sampler.sample(row, allowed.as_deref(), top)?;
            let ranked = sampler.ranked().iter().map(|token| (token.id, token.probability, token.log_probability));
            Ok((outcome, ranked.collect()))
        });
        let (outcome, ranked) = drawn.map_err(|error| errors::of_core(py, &error, None))?;
        let [before, top_k, top_p, min_p] = outcome.sizes;
        let sizes = (before, top_k, top_p, min_p);
        let numbers = numbers(py, &outcome)?;
        Ok((outcome.id, outcome.probability, outcome.log_probability, sizes, outcome.words, numbers, ranked))
    }

    /// The ids that the last step kept, rising, as little-endian u32.
    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = py.detach(|| {
            let mut ids = self.lock().kept().to_vec();
            ids.sort_unstable();
            ids.iter().flat_map(|id| id.to_le_bytes()).collect()
        });
        PyBytes::new(py, &bytes)
    }

    /// More ids that the model has seen and the sampler did not draw.
    fn extend(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let ids = arguments::Ids::of_iterable(ids)?;
        let done = py.detach(|| self.lock().extend(&ids.numbers));
        done.map_err(|error| ids.exception(py, &error, 0))
    }

    /// How many words were taken since the seed.
    #[getter]
    fn position(&self, py: Python<'_>) -> u128 {
        py.detach(|| self.lock().generator().position())
    }

    /// Go on as if so many words had been taken.
    fn advance(&self, py: Python<'_>, words: u64) -> PyResult<()> {
        let done = py.detach(|| self.lock().generator_mut().advance(words));
        done.map_err(|error| errors::of_core(py, &error, None))
    }

    /// All there is to say about the generator.
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let state = py.detach(|| self.lock().generator().state());
        PyBytes::new(py, &state)
    }

    /// Go on from a saved state.
    fn restore(&self, py: Python<'_>, state: PyBackedBytes) -> PyResult<()> {
        let done = py.detach(|| self.lock().generator_mut().restore(&state));
        done.map_err(|error| errors::of_core(py, &error, None))
    }
}

fn numbers<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyTuple>> {
    match outcome.numbers {
        Numbers::Greatest => Ok(PyTuple::empty(py)),
        Numbers::Contract { uniform, below, weight, mass } => PyTuple::new(py, [uniform, below, weight, mass]),
        Numbers::Publisher { variate, ratio } => PyTuple::new(py, [variate, ratio]),
    }
}

/// The core's form of a `SamplingConfig`, whose types and ranges the class has checked.
pub(crate) fn core_config(config: &Bound<'_, PyAny>) -> PyResult<SamplingConfig> {
    let number = |name: &str| config.getattr(name)?.extract::<f64>();
    Ok(SamplingConfig {
        profile: arguments::profile(&config.getattr("profile")?)?,
        temperature: number("temperature")?,
        top_k: config.getattr("top_k")?.extract()?,
        top_p: number("top_p")?,
        min_p: number("min_p")?,
        repetition_penalty: number("repetition_penalty")?,
        seed: core_seed(&config.getattr("rng")?, &config.getattr("seed")?, &config.getattr("stream")?)?,
        logit_bias: config
            .getattr("logit_bias")?
            .call_method0("items")?
            .try_iter()?
            .map(|item| item?.extract())
            .collect::<PyResult<_>>()?,
        banned_ids: config.getattr("banned_ids")?.extract()?,
        presence_penalty: number("presence_penalty")?,
        frequency_penalty: number("frequency_penalty")?,
    })
}

fn core_seed(rng: &Bound<'_, PyAny>, seed: &Bound<'_, PyAny>, stream: &Bound<'_, PyAny>) -> PyResult<Seed> {
    let stream = match stream.extract::<String>() {
        Ok(name) => Seed::stream_of_name(&name),
        Err(_) => stream.extract()?,
    };
    Ok(match rng.extract::<String>()?.as_str() {
        "pcg32" => Seed::Pcg32 { seed: seed.extract()?, stream },
        "chacha8" => match seed.extract::<String>() {
            Ok(digits) => Seed::ChaCha8 { key: key_of_digits(seed, &digits)?, stream },
            Err(_) => Seed::chacha8(seed.extract()?, stream),
        },
        "mt19937-torch" => Seed::Mt19937Torch { seed: seed.extract()? },
        _ => return Err(errors::of_argument("invalid_value", "rng", "pcg32, chacha8 or mt19937-torch", rng.repr()?)),
    })
}

fn key_of_digits(seed: &Bound<'_, PyAny>, digits: &str) -> PyResult<[u8; 32]> {
    let mut key = [0; 32];
    let pairs = digits
        .as_bytes()
        .chunks_exact(2)
        .map(|pair| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok()));
    let bytes: Option<Vec<u8>> = pairs.collect();
    match bytes.filter(|bytes| bytes.len() == key.len() && digits.len() == 64) {
        Some(bytes) => key.iter_mut().zip(bytes).for_each(|(to, from)| *to = from),
        None => return Err(errors::of_argument("invalid_value", "seed", "64 hex digits", seed.repr()?)),
    }
    Ok(key)
}

/// The memory of an array of float32, without a copy.
///
/// The limited API of Python 3.10 has no buffers, so the address comes from the array itself.
fn float32_row<'py>(logits: &'py Bound<'_, PyAny>) -> PyResult<&'py [f32]> {
    static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let expected = "a contiguous one-dimensional numpy.ndarray of float32";
    let refused = || match logits.get_type().name() {
        Ok(name) => errors::of_argument("invalid_type", "logits", expected, name),
        Err(failed) => failed,
    };
    // A subclass could give another address than its own.
    if !logits.get_type().is(NDARRAY.import(logits.py(), "numpy", "ndarray")?) {
        return Err(refused());
    }
    let interface = logits.getattr("__array_interface__")?;
    let (address, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let shape: Vec<usize> = interface.get_item("shape")?.extract()?;
    let contiguous = interface.get_item("strides")?.is_none();
    let typed = interface.get_item("typestr")?.extract::<String>()?
        == if cfg!(target_endian = "little") { "<f4" } else { ">f4" };
    match shape[..] {
        [length] if contiguous && typed && address % align_of::<f32>() == 0 && address != 0 => {
            // SAFETY: `logits` is exactly a numpy.ndarray, which told that `length` float32, one after the other and aligned, begin at
            // `address`. The caller holds a reference for as long as the slice lives, so that they are not freed. As with the library's
            // own loops, a thread that writes there meanwhile changes what is read; every bit pattern is a float32.
            Ok(unsafe { std::slice::from_raw_parts(address as *const f32, length) })
        }
        _ => Err(refused()),
    }
}

/// A generator by itself. See `slm2.engine.EngineGenerator`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeGenerator {
    generator: Mutex<Generator>,
}

impl NativeGenerator {
    pub(crate) fn new(rng: &Bound<'_, PyAny>, seed: &Bound<'_, PyAny>, stream: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { generator: Mutex::new(Generator::new(&core_seed(rng, seed, stream)?)) })
    }

    fn lock(&self) -> MutexGuard<'_, Generator> {
        self.generator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
#[allow(clippy::needless_pass_by_value)] // values are taken from the interpreter
impl NativeGenerator {
    /// The next word.
    fn word(&self) -> u32 {
        self.lock().word()
    }

    /// A multiple of 2^-53 in [0, 1), from two words.
    fn uniform(&self) -> f64 {
        self.lock().uniform()
    }

    /// How many words were taken since the seed.
    #[getter]
    fn position(&self) -> u128 {
        self.lock().position()
    }

    /// Go on as if so many words had been taken.
    fn advance(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        self.lock().advance(count).map_err(|error| errors::of_core(py, &error, None))
    }

    /// All there is to say about the generator.
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let state = self.lock().state();
        PyBytes::new(py, &state)
    }

    /// Go on from a saved state.
    fn restore(&self, py: Python<'_>, state: PyBackedBytes) -> PyResult<()> {
        self.lock().restore(&state).map_err(|error| errors::of_core(py, &error, None))
    }
}

/// exp, log or log1p of each of some little-endian float64.
pub(crate) fn portable<'py>(
    py: Python<'py>,
    function: &Bound<'_, PyAny>,
    values: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let apply = match function.extract::<String>()?.as_str() {
        "exp" => math::exp,
        "log" => math::log,
        "log1p" => math::log1p,
        _ => return Err(errors::of_argument("invalid_value", "function", "exp, log or log1p", function.repr()?)),
    };
    let bits = values.chunks_exact(8).filter_map(|bytes| bytes.first_chunk().map(|bits| f64::from_le_bytes(*bits)));
    let results: Vec<u8> = bits.flat_map(|value| apply(value).to_le_bytes()).collect();
    Ok(PyBytes::new(py, &results))
}
