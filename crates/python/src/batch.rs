//! Many texts on several threads, in their order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use slm2_core::{Error, Profile, TokenId, Tokenizer};

use crate::arguments::Text;
use crate::held::PyArtifact;
use crate::scratches::{Scratches, Workshop};

type Encoded = Result<Vec<TokenId>, Error>;

/// The ids of each text; the error of the first that is refused, whichever thread met one first.
pub(crate) fn encode(
    artifact: &PyArtifact,
    scratches: &Scratches,
    texts: &[Text<'_>],
    profile: Profile,
    threads: usize,
) -> Result<Vec<Vec<TokenId>>, Error> {
    let done: Vec<OnceLock<Encoded>> = texts.iter().map(|_| OnceLock::new()).collect();
    let threads = threads.clamp(1, texts.len().max(1));
    let queues = Queues::new(texts.len(), threads);
    let work = |thread: usize, workshop: &mut Workshop| {
        let tokenizer = Tokenizer::new(artifact);
        while let Some((text, place)) = queues.take(thread).and_then(|at| texts.get(at).zip(done.get(at))) {
            let encoded = tokenizer.encode(text, profile, &mut workshop.scratch);
            // Nobody else takes this place.
            place.get_or_init(|| encoded);
        }
    };
    scratches.with_each(threads, |workshops| {
        thread::scope(|scope| {
            let mut workshops = workshops.iter_mut().enumerate();
            let own = workshops.next();
            for (thread, workshop) in workshops {
                scope.spawn(move || work(thread, workshop));
            }
            if let Some((thread, workshop)) = own {
                work(thread, workshop);
            }
        });
    })?;
    done.into_iter().map(|encoded| encoded.into_inner().unwrap_or_else(|| Ok(Vec::new()))).collect()
}

/// A queue for each thread, neighbouring texts in one: they have words in common, and a batch that comes again finds the memory of the
/// thread that had it. Who has come to the end of its own takes from the next, so that a long text holds up nobody.
struct Queues {
    /// Of each, what is the next, and where it ends.
    ranges: Vec<(AtomicUsize, usize)>,
}

impl Queues {
    fn new(texts: usize, threads: usize) -> Self {
        let begin = |thread: usize| texts * thread / threads;
        let ranges = (0..threads).map(|thread| (AtomicUsize::new(begin(thread)), begin(thread + 1)));
        Self { ranges: ranges.collect() }
    }

    /// The next text for a thread; none is taken twice.
    fn take(&self, thread: usize) -> Option<usize> {
        let others = self.ranges.iter().cycle().skip(thread).take(self.ranges.len());
        others
            .map(|(next, end)| (next.fetch_add(1, Ordering::Relaxed), *end))
            .find(|(at, end)| at < end)
            .map(|(at, _)| at)
    }
}
