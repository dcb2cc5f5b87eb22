//! What no vector asks: other artifacts, everything there is of a kind, memory.

use sha2::{Digest, Sha256};
use slm2_core::{Artifact, JsonValue, Profile, Scratch, SpecialPolicy, TokenId, Tokenizer};

use crate::params::{Fault, Params, base64};
use crate::write::{self, list, object};
use crate::{Answer, Host, Method};

pub(crate) const METHODS: &[(&str, Method)] =
    &[("open", open), ("special_tokens", special_tokens), ("tokens", tokens), ("scalars", scalars), ("memory", memory)];

/// Where a token is missing, in a stream of ids.
const NO_ID: u32 = u32::MAX;

fn open(_: &mut Host, params: &Params<'_>) -> Answer {
    let data = base64(params.text("base64")?).ok_or_else(|| Fault::Failure("`base64` cannot be read".into()))?;
    if let Some(limit) = params.optional_integer("max_pretoken")? {
        Scratch::new(usize::try_from(limit).unwrap_or(usize::MAX))?;
    }
    let artifact = Artifact::from_bytes(data)?;
    Ok(object([("semantic_digest", artifact.semantic_digest().into()), ("file_digest", artifact.file_digest().into())]))
}

fn special_tokens(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, _) = host.opened(params)?;
    let tokens = artifact.special_tokens();
    let tokens = tokens.map(|(id, text)| list([id.into(), String::from_utf8_lossy(text).into_owned().into()]));
    Ok(object([("tokens", list(tokens))]))
}

/// Integers and bytes on their way into a digest; numbers are u32, little-endian.
#[derive(Default)]
struct Stream(Sha256);

impl Stream {
    fn number(&mut self, number: u32) {
        self.0.update(number.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        self.number(u32::try_from(length).unwrap_or(u32::MAX));
    }

    fn token(&mut self, id: u32, bytes: &[u8]) {
        self.number(id);
        self.length(bytes.len());
        self.0.update(bytes);
    }

    fn ids(&mut self, ids: &[TokenId]) {
        self.length(ids.len());
        for id in ids {
            self.number(id.get());
        }
    }

    fn digest(self) -> JsonValue {
        write::hex(&self.0.finalize()).into()
    }
}

fn block(params: &Params<'_>) -> Result<(u32, u32), Fault> {
    let end = |name| params.integer(name).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Ok((end("first")?, end("last")?))
}

fn tokens(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let tokenizer = Tokenizer::new(artifact);
    let [mut bytes, mut decoded, mut ids, mut encoded] = std::array::from_fn(|_| Stream::default());
    let (first, last) = block(params)?;
    for id in first..=last {
        let token = tokenizer.token_bytes(id)?;
        bytes.token(id, token);
        decoded.token(id, &tokenizer.decode(&[id], SpecialPolicy::Bytes)?);
        ids.number(tokenizer.token_id(token).map_or(NO_ID, TokenId::get));
        encoded.ids(&tokenizer.encode(token, Profile::Contract, scratch)?);
    }
    Ok(object([
        ("bytes", bytes.digest()),
        ("decoded", decoded.digest()),
        ("ids", ids.digest()),
        ("encoded", encoded.digest()),
    ]))
}

fn scalars(host: &mut Host, params: &Params<'_>) -> Answer {
    let (artifact, scratch) = host.opened(params)?;
    let (tokenizer, profile) = (Tokenizer::new(artifact), params.profile()?);
    let mut stream = Stream::default();
    let (first, last) = block(params)?;
    for scalar in (first..=last).filter_map(char::from_u32) {
        for text in [scalar.to_string(), format!("a{scalar}b"), format!(" {scalar} "), format!("\n{scalar}\n")] {
            stream.ids(&tokenizer.encode(text.as_bytes(), profile, scratch)?);
        }
    }
    Ok(object([("sha256", stream.digest())]))
}

/// The peak of the process, as the kernel counts it.
fn memory(_: &mut Host, _: &Params<'_>) -> Answer {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| Fault::Failure(error.to_string()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    let kilobytes = kilobytes.ok_or_else(|| Fault::Failure("the kernel does not tell".into()))?;
    Ok(object([("bytes", (kilobytes * 1024).into()), ("measured", "process".into())]))
}
