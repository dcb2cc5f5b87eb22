//! Runs the targets for a limited time, without any help of the compiler: kept inputs first, then made and changed ones.
//!
//! `cargo run --release -- [--seconds N] [--seed N] [--target NAME] [FILE ...]`; see the README. The seed is printed, and gives the same
//! inputs again; an input at which something does not hold is written to `crashes/`, as small as it could be made.

mod mutation;

use std::fmt::Display;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use mutation::Source;
use slm2_fuzz::{TARGETS, Target};

/// For all targets together.
const SECONDS: f64 = 15.0;
/// An input that takes longer is a failure: most take less than a thousandth of it.
const LONGEST_INPUT: Duration = Duration::from_secs(20);
const LONGEST_MINIMISING: Duration = Duration::from_secs(3);

/// What is being run, for the one who watches that it comes to an end.
static AT_HAND: Mutex<Option<(&'static str, Instant, Vec<u8>)>> = Mutex::new(None);

struct Options {
    seconds: f64,
    seed: u64,
    target: Option<String>,
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("slm2-fuzz: {error}");
            return ExitCode::from(2);
        }
    };
    let targets: Vec<_> =
        TARGETS.iter().filter(|(name, _)| options.target.as_deref().is_none_or(|it| it == *name)).collect();
    if targets.is_empty() {
        eprintln!("slm2-fuzz: no such target; there are {}", TARGETS.map(|(name, _)| name).join(", "));
        return ExitCode::from(2);
    }
    std::thread::spawn(watch);
    println!("seed {}", options.seed);
    let share = Duration::from_secs_f64(options.seconds / f64::from(u32::try_from(targets.len()).unwrap_or(1)));
    let failed = targets.iter().filter(|(name, target)| !run(name, *target, share, &options)).count();
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    // As cargo counts tests.
    println!("test result: {verdict}. {} passed; {failed} failed; 0 ignored", targets.len() - failed);
    ExitCode::from(u8::from(failed > 0))
}

fn options() -> Result<Options, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut options = Options {
        seconds: variable("SLM2_FUZZ_SECONDS").map_or(Ok(SECONDS), |value| number(&value))?,
        seed: variable("SLM2_FUZZ_SEED").map_or_else(|| Ok(seed_of_now()), |value| number(&value))?,
        target: None,
        files: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--seconds" => options.seconds = number(&value()?)?,
            "--seed" => options.seed = number(&value()?)?,
            "--target" => options.target = Some(value()?),
            name if name.starts_with('-') => return Err(format!("no such option: {name}")),
            file => options.files.push(file.into()),
        }
    }
    if !options.files.is_empty() && options.target.is_none() {
        return Err("files need --target".into());
    }
    Ok(options)
}

fn number<N: std::str::FromStr<Err: Display>>(value: &str) -> Result<N, String> {
    value.parse().map_err(|error| format!("{value:?}: {error}"))
}

fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ now.as_secs()
}

/// Kept inputs, or files, and then others for a time. Whether all held.
fn run(name: &'static str, target: Target, share: Duration, options: &Options) -> bool {
    let begun = Instant::now();
    let kept = match kept(name, &options.files) {
        Ok(kept) => kept,
        Err(error) => {
            println!("{name} ... FAILED: {error}");
            return false;
        }
    };
    for (path, input) in &kept {
        if !holds(name, target, input) {
            println!("{name} ... FAILED at {}", path.display());
            return false;
        }
    }
    let regressions = kept.len();
    let mut source = Source::new(name, options.seed, kept.into_iter().map(|(_, input)| input).collect());
    let mut count = 0_u64;
    while options.files.is_empty() && begun.elapsed() < share {
        let input = source.next();
        count += 1;
        if !holds(name, target, &input) {
            let path = write_crash(name, &minimised(name, target, input));
            println!("{name} ... FAILED with seed {} at input {count}, written to {path}", options.seed);
            return false;
        }
    }
    println!("{name} ... ok  {regressions} kept, {count} made, {:.1} s", begun.elapsed().as_secs_f64());
    true
}

/// The files, or what is kept for a target, in the order of their names.
fn kept(name: &str, files: &[PathBuf]) -> std::io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut paths = files.to_vec();
    let folder = here().join("regressions").join(name);
    if paths.is_empty() && folder.exists() {
        for entry in fs::read_dir(folder)? {
            paths.push(entry?.path());
        }
        paths.sort();
    }
    paths.into_iter().map(|path| fs::read(&path).map(|input| (path, input))).collect()
}

fn holds(name: &'static str, target: Target, input: &[u8]) -> bool {
    set_at_hand(Some((name, Instant::now(), input.to_vec())));
    let held = catch_unwind(AssertUnwindSafe(|| target(input))).is_ok();
    set_at_hand(None);
    held
}

fn set_at_hand(value: Option<(&'static str, Instant, Vec<u8>)>) {
    if let Ok(mut at_hand) = AT_HAND.lock() {
        *at_hand = value;
    }
}

/// Ends the program where an input takes too long: a loop cannot be stopped otherwise.
fn watch() {
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let Ok(at_hand) = AT_HAND.lock() else { continue };
        if let Some((name, begun, input)) = at_hand.as_ref().filter(|(_, begun, _)| begun.elapsed() > LONGEST_INPUT) {
            println!("{name} ... FAILED: {:?} for an input, written to {}", begun.elapsed(), write_crash(name, input));
            std::process::exit(1);
        }
    }
}

/// The input with as much left out as can be, within a limit of time.
fn minimised(name: &'static str, target: Target, mut input: Vec<u8>) -> Vec<u8> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let begun = Instant::now();
    let mut length = input.len() / 2;
    while length > 0 {
        let mut at = 0;
        while at + length <= input.len() && begun.elapsed() < LONGEST_MINIMISING {
            let without = [&input[..at], &input[at + length..]].concat();
            if holds(name, target, &without) {
                at += length;
            } else {
                input = without;
            }
        }
        length /= 2;
    }
    std::panic::set_hook(hook);
    input
}

fn write_crash(name: &str, input: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let folder = here().join("crashes").join(name);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input));
    written.map_or_else(|error| format!("nowhere ({error})"), |()| path.display().to_string())
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
