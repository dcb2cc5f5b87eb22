//! The bytes of an artifact: Python's, or those of a file that was read without Python.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use pyo3::pybacked::PyBackedBytes;
use slm2_core::{Artifact, Error};

use crate::scratches::Scratches;

/// An opened artifact.
pub(crate) type PyArtifact = Artifact<Held>;

/// Bytes that nobody changes.
pub(crate) enum Held {
    Python(PyBackedBytes),
    Own(Vec<u8>),
}

impl AsRef<[u8]> for Held {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Python(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }
}

/// All of a file. It is a copy and no map: under a map a file that somebody cuts short would end the process, and one that somebody writes
/// to would no longer be what the digest was computed of.
pub(crate) fn read(path: &Path) -> io::Result<Held> {
    let mut file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length)?;
    #[cfg(target_os = "linux")]
    crate::large_pages::populate(bytes.spare_capacity_mut());
    file.read_to_end(&mut bytes)?;
    Ok(Held::Own(bytes))
}

/// An artifact, and what its calls work in.
pub(crate) fn open(data: Held, max_pretoken: u64) -> Result<(Scratches, PyArtifact), Error> {
    let open = || Ok((Scratches::new(max_pretoken)?, Artifact::from_bytes(data)?));
    #[cfg(target_os = "linux")]
    return crate::large_pages::filling(open);
    #[cfg(not(target_os = "linux"))]
    open()
}
