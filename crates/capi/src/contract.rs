//! An opened artifact.

use std::ffi::c_void;
use std::sync::Arc;

use slm2_core::{Artifact, Error, JsonValue, Profile, SpecialPolicy, Template, Tokenizer};

use crate::context::{Context, Status, call};
use crate::memory::{Memory, free, put_handle, shared, slice};

/// The part that handles hold.
pub(crate) type Opened = Arc<Artifact<Memory>>;

/// An opened artifact: immutable, for any number of threads. Made with [`slm2_contract_open`].
pub struct Contract(pub(crate) Opened);

impl Contract {
    pub(crate) fn tokenizer(&self) -> Tokenizer<'_> {
        Tokenizer::new(&self.0)
    }

    pub(crate) fn template(&self) -> Result<Template<'_>, Error> {
        Template::new(&self.0)
    }
}

/// Profile `contract`.
pub const SLM2_PROFILE_CONTRACT: u32 = 0;
/// Profile `publisher`.
pub const SLM2_PROFILE_PUBLISHER: u32 = 1;
/// Ids of special tokens are refused.
pub const SLM2_SPECIAL_REFUSE: u32 = 0;
/// They stand for nothing.
pub const SLM2_SPECIAL_SKIP: u32 = 1;
/// They stand for their text.
pub const SLM2_SPECIAL_BYTES: u32 = 2;

pub(crate) fn profile(number: u32) -> Result<Profile, Error> {
    match number {
        SLM2_PROFILE_CONTRACT => Ok(Profile::Contract),
        SLM2_PROFILE_PUBLISHER => Ok(Profile::Publisher),
        other => Err(Error::invalid_value("profile", "0 (contract) or 1 (publisher)", &other.to_string())),
    }
}

pub(crate) fn special(number: u32) -> Result<SpecialPolicy, Error> {
    match number {
        SLM2_SPECIAL_REFUSE => Ok(SpecialPolicy::Refuse),
        SLM2_SPECIAL_SKIP => Ok(SpecialPolicy::Skip),
        SLM2_SPECIAL_BYTES => Ok(SpecialPolicy::Bytes),
        other => Err(Error::invalid_value("special", "0 (refuse), 1 (skip) or 2 (bytes)", &other.to_string())),
    }
}

fn opened(memory: Option<Memory>) -> Result<Contract, Error> {
    let memory = memory.ok_or_else(|| Error::invalid_value("length", "as many bytes as there is memory for", "more"))?;
    Ok(Contract(Arc::new(Artifact::from_bytes(memory)?)))
}

/// Open an artifact from a copy of its bytes: the first rule of contract/artifact.md that they break is the refusal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_contract_open(
    context: *mut Context, bytes: *const u8, length: usize, contract: *mut *mut Contract,
) -> Status {
    unsafe { call(context, |_| put_handle(contract, slice(bytes, length, "bytes").and_then(|bytes| opened(Memory::copy(bytes))))) }
}

/// Open an artifact where it lies, in memory of [`crate::context::slm2_alloc`] of this length, which is the library's from now on, also
/// where it is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_contract_adopt(
    context: *mut Context, memory: *mut c_void, length: usize, contract: *mut *mut Contract,
) -> Status {
    let work = |_: &mut Context| unsafe {
        shared(memory, "memory")?;
        put_handle(contract, opened(Some(Memory::from_raw(memory, length))))
    };
    unsafe { call(context, work) }
}

/// Free a contract; NULL is none. Handles that were made with it go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_contract_free(contract: *mut Contract) {
    unsafe { free(contract) }
}

/// What is to say about it as JSON: `contract_version`, `vocabulary_size`, `token_limit`, `file_digest`, `semantic_digest`,
/// `special_tokens` (arrays of id and text, ids rising) and `provenance`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_contract_info(
    context: *mut Context, contract: *const Contract, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let info = shared(contract, "contract")?.0.info_to_json();
        context.give(info.into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}

/// The template program as the artifact holds it (contract/artifact.md); no bytes where it has none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_contract_template_section(
    context: *mut Context, contract: *const Contract, bytes: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let section = shared(contract, "contract")?.0.template_section().unwrap_or_default();
        context.give(section.to_vec(), bytes, capacity, length)
    };
    unsafe { call(context, work) }
}

/// JSON text of a caller.
pub(crate) unsafe fn json(text: *const u8, length: usize, name: &str) -> Result<JsonValue, Error> {
    JsonValue::from_json(unsafe { slice(text, length, name) }?)
}
