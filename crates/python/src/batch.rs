//! Many texts on several threads, in their order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use slm2_core::{Error, Profile, TokenId, Tokenizer};

use crate::arguments::Text;
use crate::engine::PyArtifact;
use crate::scratches::Scratches;

type Encoded = Result<Vec<TokenId>, Error>;

/// The ids of each text; the error of the first that is refused, whichever thread met one first.
pub(crate) fn encode(
    artifact: &PyArtifact,
    scratches: &Scratches,
    texts: &[Text],
    profile: Profile,
    threads: usize,
) -> Result<Vec<Vec<TokenId>>, Error> {
    let done: Vec<OnceLock<Encoded>> = texts.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    // Threads take the next text that none has taken, so that a long one holds up nobody.
    let work = || {
        scratches.with(|workshop| {
            let tokenizer = Tokenizer::new(artifact);
            while let Some((text, place)) = take(&next, texts, &done) {
                let encoded = tokenizer.encode(text, profile, &mut workshop.scratch);
                // Nobody else takes this place.
                place.get_or_init(|| encoded);
            }
        })
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, texts.len().max(1)) {
            scope.spawn(work);
        }
        work()
    })?;
    done.into_iter().map(|encoded| encoded.into_inner().unwrap_or_else(|| Ok(Vec::new()))).collect()
}

fn take<'t>(
    next: &AtomicUsize,
    texts: &'t [Text],
    done: &'t [OnceLock<Encoded>],
) -> Option<(&'t Text, &'t OnceLock<Encoded>)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    texts.get(at).zip(done.get(at))
}
