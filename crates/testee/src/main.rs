//! A testee over the Rust crate: one JSON request a line in, one answer a line out (contract/conformance.md).
//!
//! It does what an application would do with `slm2_core`, and nothing beside that.

mod chat;
mod draws;
mod params;
mod sweeps;
mod text;
mod write;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use slm2_core::{Artifact, Error, JsonValue, Scratch};

use params::{Fault, Params, member};
use write::{made, object};

/// The longest piece where a call does not say.
const MAX_PRETOKEN: u64 = 1 << 27;

type Answer = Result<JsonValue, Fault>;
type Method = fn(&mut Host, &Params<'_>) -> Answer;

/// What calls share: the artifact, and memory for each limit that one named.
pub(crate) struct Host {
    artifact: Artifact<Vec<u8>>,
    scratches: BTreeMap<u64, Scratch>,
}

impl Host {
    /// The artifact, and the memory of the limit that a call names.
    fn opened(&mut self, params: &Params<'_>) -> Result<(&Artifact<Vec<u8>>, &mut Scratch), Fault> {
        let limit = params.optional_integer("max_pretoken")?.unwrap_or(MAX_PRETOKEN);
        let scratch = match self.scratches.entry(limit) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(Scratch::new(usize::try_from(limit).unwrap_or(usize::MAX))?),
        };
        Ok((&self.artifact, scratch))
    }
}

/// Names and functions of all methods but `hello`.
const METHODS: &[&[(&str, Method)]] = &[text::METHODS, draws::METHODS, chat::METHODS, sweeps::METHODS];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("slm2-testee: {message}");
            ExitCode::from(2)
        }
    }
}

#[allow(clippy::disallowed_methods)] // a program is told which file to open
fn run() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [flag, path] = arguments.as_slice() else { return Err("usage: slm2-testee --artifact FILE".into()) };
    if flag != "--artifact" {
        return Err(format!("there is no option {flag}"));
    }
    let data = std::fs::read(path).map_err(|error| error.to_string())?;
    let artifact = Artifact::from_bytes(data).map_err(|error| error.to_string())?;
    let mut host = Host { artifact, scratches: BTreeMap::new() };
    let mut answers = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| error.to_string())?;
        let mut answer = answer(&mut host, &line).to_json();
        answer.push('\n');
        answers.write_all(answer.as_bytes()).and_then(|()| answers.flush()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The answer to a line; whatever goes wrong is one.
fn answer(host: &mut Host, line: &[u8]) -> JsonValue {
    let request = match JsonValue::from_json(line) {
        Ok(request) => request,
        Err(error) => return object([("id", JsonValue::Null), ("failure", error.to_string().into())]),
    };
    let number = member(&request, "id").cloned().unwrap_or(JsonValue::Null);
    let outcome = match result(host, &request) {
        Ok(result) => ("result", result),
        Err(Fault::Refusal(error)) => ("error", refusal(&error)),
        Err(Fault::Failure(message)) => ("failure", message.into()),
    };
    object([("id", number), outcome])
}

fn result(host: &mut Host, request: &JsonValue) -> Answer {
    let (Some(JsonValue::Text(name)), Some(params)) = (member(request, "method"), member(request, "params")) else {
        return Err(Fault::Failure("a request has `id`, `method` and `params`".into()));
    };
    if name == "hello" {
        return Ok(hello(&host.artifact));
    }
    let found = METHODS.iter().flat_map(|methods| methods.iter()).find(|(known, _)| known == name);
    let Some((_, method)) = found else { return Err(Fault::Failure(format!("there is no method {name}"))) };
    method(host, &Params(params))
}

/// Code and fields of a refusal.
pub(crate) fn refusal(error: &Error) -> JsonValue {
    let whole = made(&error.to_json());
    object(["code", "fields"].map(|name| (name, member(&whole, name).cloned().unwrap_or(JsonValue::Null))))
}

/// The outcome of one call of several: `{…}`, or `{"error"}`.
pub(crate) fn outcome(answer: Answer) -> Answer {
    match answer {
        Err(Fault::Refusal(error)) => Ok(object([("error", refusal(&error))])),
        other => other,
    }
}

fn hello(artifact: &Artifact<Vec<u8>>) -> JsonValue {
    let names = METHODS.iter().flat_map(|methods| methods.iter()).map(|(name, _)| *name).chain(["hello"]);
    let mut methods: Vec<&str> = names.collect();
    methods.sort_unstable();
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let host = [
        ("name", "slm2-core"),
        ("version", env!("CARGO_PKG_VERSION")),
        ("language", "Rust"),
        ("runtime", "none"),
        ("platform", &platform),
    ];
    object([
        ("protocol", 1_u32.into()),
        ("contract_version", artifact.contract_version().into()),
        ("semantic_digest", artifact.semantic_digest().into()),
        ("file_digest", artifact.file_digest().into()),
        ("host", object(host.map(|(name, value)| (name, value.into())))),
        ("methods", JsonValue::array(methods)),
    ])
}
