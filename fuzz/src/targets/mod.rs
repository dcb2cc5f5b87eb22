//! What must hold, target by target.

pub mod artifact;
pub mod chunked;
pub mod decode;
pub mod encode;
pub mod merges;
pub mod session;
