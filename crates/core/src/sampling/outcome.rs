//! What one step gives.

/// One draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The token.
    pub id: u32,
    /// Of the token, among the kept ones.
    pub probability: f64,
    /// Its natural logarithm.
    pub log_probability: f64,
    /// How many ids were left before `top_k`, after it, after `top_p` and after `min_p`.
    pub sizes: [u32; 4],
    /// How many 32-bit words the step took from the generator.
    pub words: u32,
    /// What decided.
    pub numbers: Numbers,
    pub(super) greatest: f32,
    pub(super) mass: f64,
}

/// The numbers by which a draw can be checked (S-62).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers {
    /// At temperature 0 nothing was drawn.
    Greatest,
    /// `below <= uniform * mass < below + weight`, rounding apart.
    Contract {
        /// In [0, 1).
        uniform: f64,
        /// The running sum before the token.
        below: f64,
        /// Of the token.
        weight: f64,
        /// The running sum of all that were kept.
        mass: f64,
    },
    /// No kept token has a greater ratio.
    Publisher {
        /// The exponential variate of the token.
        variate: f32,
        /// Probability over variate.
        ratio: f32,
    },
}

/// A kept token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranked {
    /// The token.
    pub id: u32,
    /// Among the kept ones.
    pub probability: f64,
    /// Its natural logarithm.
    pub log_probability: f64,
}
