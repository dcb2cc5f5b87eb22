//! Memory that calls work in.

use std::sync::Mutex;

use slm2_core::{Error, Scratch, TokenId};

/// As many workshops as there were calls at once, up to a number that threads seldom pass.
pub(crate) struct Scratches {
    max_pretoken: usize,
    /// In boxes: a scratch is larger than what should be moved for a short message.
    free: Mutex<Vec<Box<Workshop>>>,
}

/// What a call works in.
pub(crate) struct Workshop {
    pub(crate) scratch: Scratch,
    pub(crate) ids: Vec<TokenId>,
    /// Ids as a caller gave them.
    pub(crate) numbers: Vec<u32>,
    pub(crate) bytes: Vec<u8>,
}

/// More than that are not kept: each may have 10 MiB.
const KEPT: usize = 16;
/// Room for more ids than that is not kept.
const KEPT_IDS: usize = 1 << 18;
/// Nor for more decoded bytes.
const KEPT_BYTES: usize = 1 << 20;

impl Scratches {
    /// `limit_out_of_range` where no scratch can be for pieces that long.
    pub(crate) fn new(max_pretoken: u64) -> Result<Self, Error> {
        let max_pretoken = usize::try_from(max_pretoken).unwrap_or(usize::MAX);
        let first = Box::new(Workshop {
            scratch: Scratch::new(max_pretoken)?,
            ids: Vec::new(),
            numbers: Vec::new(),
            bytes: Vec::new(),
        });
        Ok(Self { max_pretoken, free: Mutex::new(vec![first]) })
    }

    pub(crate) const fn max_pretoken(&self) -> usize {
        self.max_pretoken
    }

    /// Work in a workshop that no other call uses, with nothing of another in it.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Workshop) -> T) -> Result<T, Error> {
        let mut workshop = self.take()?;
        let done = work(&mut workshop);
        self.give_back(workshop);
        Ok(done)
    }

    /// Work in several, the same ones in the same order as the last time where nobody else has them.
    pub(crate) fn with_each<T>(&self, count: usize, work: impl FnOnce(&mut [Box<Workshop>]) -> T) -> Result<T, Error> {
        let mut workshops = (0..count).map(|_| self.take()).collect::<Result<Vec<_>, _>>()?;
        let done = work(&mut workshops);
        workshops.into_iter().rev().for_each(|workshop| self.give_back(workshop));
        Ok(done)
    }

    /// It never waits: in a process that was forked while another thread held the lock, nobody would ever let it go.
    fn take(&self) -> Result<Box<Workshop>, Error> {
        if let Some(workshop) = self.free.try_lock().ok().and_then(|mut free| free.pop()) {
            return Ok(workshop);
        }
        Ok(Box::new(Workshop {
            scratch: Scratch::new(self.max_pretoken)?,
            ids: Vec::new(),
            numbers: Vec::new(),
            bytes: Vec::new(),
        }))
    }

    fn give_back(&self, mut workshop: Box<Workshop>) {
        workshop.ids.clear();
        workshop.ids.shrink_to(KEPT_IDS);
        workshop.numbers.clear();
        workshop.numbers.shrink_to(KEPT_IDS);
        workshop.bytes.clear();
        workshop.bytes.shrink_to(KEPT_BYTES);
        if let Ok(mut free) = self.free.try_lock() {
            if free.len() < KEPT {
                free.push(workshop);
            }
        }
    }
}
