//! exp, log and log1p in float64 from + - * /, comparisons and bit moves alone (contract/sampling.md, S-40 to S-43).
//!
//! Methods and constants are fdlibm's (Sun Microsystems, 1993: "Permission to use, copy, modify, and distribute this software is freely
//! granted, provided that this notice is preserved"). Rust never contracts a multiplication and an addition into one rounding, so every
//! target gives the same bits. Nothing branches on a value, so that loops over [`exp`] become vector code.

#![allow(clippy::inline_always)] // loops over these become vector code only where they are inlined

// The constants stand as fdlibm writes them.
#![allow(
    clippy::approx_constant,
    clippy::excessive_precision,
    clippy::unreadable_literal,
    clippy::many_single_char_names
)]

const LN2_HIGH: f64 = 6.93147180369123816490e-01;
const LN2_LOW: f64 = 1.90821492927058770002e-10;
const INVERSE_LN2: f64 = 1.44269504088896338700e+00;
const HALF_LN2: f64 = 0.34657359027997264;
const OVERFLOW: f64 = 709.782712893383973096;
const UNDERFLOW: f64 = -745.13321910194110842;

const P1: f64 = 1.66666666666666019037e-01;
const P2: f64 = -2.77777777770155933842e-03;
const P3: f64 = 6.61375632143793436117e-05;
const P4: f64 = -1.65339022054652515390e-06;
const P5: f64 = 4.13813679705723846039e-08;

const L1: f64 = 6.666666666666735130e-01;
const L2: f64 = 3.999999999940941908e-01;
const L3: f64 = 2.857142874366239149e-01;
const L4: f64 = 2.222219843214978396e-01;
const L5: f64 = 1.818357216161805012e-01;
const L6: f64 = 1.531383769920937332e-01;
const L7: f64 = 1.479819860511658591e-01;

/// 1.5 * 2^52: added to a number below 2^51, it leaves the nearest integer in the low bits.
const ROUNDER: f64 = 6755399441055744.0;
const SMALLEST_NORMAL: f64 = 2.2250738585072014e-308;
/// The upper word of sqrt(1/2), and what brings it to the upper word of 1.
const ROOT_HALF: i64 = 0x3FE6A09E;
const TO_ONE: i64 = 0x3FF00000 - ROOT_HALF;

/// e to the `x`; less than 1 ulp off (measured: 0.87).
#[inline(always)]
#[must_use]
pub fn exp(x: f64) -> f64 {
    // A NaN fails both comparisons and comes out as it is.
    let inside = if x < -746.0 { -746.0 } else { x };
    let inside = if inside > 710.0 { 710.0 } else { inside };
    let k = truncated(INVERSE_LN2 * inside + if inside < 0.0 { -0.5 } else { 0.5 });
    let small = (-HALF_LN2..=HALF_LN2).contains(&inside);
    let k = if small { 0.0 } else { k };
    let high = inside - k * LN2_HIGH;
    let low = k * LN2_LOW;
    let r = high - low;
    let t = r * r;
    let c = r - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))));
    let y = 1.0 - ((low - (r * c) / (2.0 - c)) - high);
    let first = if k < -1021.0 { -1021.0 } else { k };
    let first = if first > 1023.0 { 1023.0 } else { first };
    // The first product is exact; the second rounds where the result is subnormal.
    let y = y * power_of_two(first) * power_of_two(k - first);
    let y = if x > OVERFLOW { f64::INFINITY } else { y };
    if x < UNDERFLOW { 0.0 } else { y }
}

/// The integer towards zero, for |v| below 2^51. (`f64::trunc` is not in `core` of Rust 1.85.)
#[inline(always)]
fn truncated(v: f64) -> f64 {
    let nearest = (v + ROUNDER) - ROUNDER;
    let up = if v < 0.0 && nearest < v { 1.0 } else { 0.0 };
    let down = if v >= 0.0 && nearest > v { 1.0 } else { 0.0 };
    nearest + up - down
}

/// 2^k, exactly, for whole k from -1022 to 1023.
#[inline(always)]
fn power_of_two(k: f64) -> f64 {
    // The low bits of the sum are k + 1023; the shift makes them an exponent and drops all else.
    f64::from_bits((k + (ROUNDER + 1023.0)).to_bits() << 52)
}

/// The natural logarithm of a finite `x` above 0; less than 1 ulp off (measured: 0.82).
#[must_use]
pub fn log(x: f64) -> f64 {
    let subnormal = x < SMALLEST_NORMAL;
    let (k, f) = reduced(if subnormal { x * 18014398509481984.0 } else { x });
    tail(f, 0.0, k - if subnormal { 54.0 } else { 0.0 })
}

/// log(1 + x) for -1 < x <= 0; less than 1 ulp off (measured: 0.80).
#[must_use]
pub fn log1p(x: f64) -> f64 {
    let magnitude = x.to_bits() & !(1 << 63);
    if magnitude < 0x3CA0_0000_0000_0000 {
        return x; // below 2^-53
    }
    let upper = x.to_bits() >> 32;
    if upper < 0x3FDA827A || (x < 0.0 && upper <= 0xBFD2BEC4) {
        return tail(x, 0.0, 0.0); // 1 + x lies between sqrt(1/2) and sqrt(2)
    }
    let u = 1.0 + x;
    let (k, f) = reduced(u);
    // What the sum lost.
    tail(f, (x - (u - 1.0)) / u, k)
}

/// k and f with x = 2^k * (1 + f), 1 + f from sqrt(1/2) to sqrt(2).
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, clippy::cast_precision_loss)] // words of 32 bits in an i64
fn reduced(x: f64) -> (f64, f64) {
    let bits = x.to_bits() as i64;
    let upper = (bits >> 32) + TO_ONE;
    let k = (upper >> 20) - 0x3FF;
    let mantissa = (((upper & 0xFFFFF) + ROOT_HALF) << 32) | (bits & 0xFFFF_FFFF);
    (k as f64, f64::from_bits(mantissa as u64) - 1.0)
}

/// log(1 + f) + k log 2, with a correction c of f.
fn tail(f: f64, c: f64, k: f64) -> f64 {
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let odd = w * (L2 + w * (L4 + w * L6));
    let even = z * (L1 + w * (L3 + w * (L5 + w * L7)));
    let r = even + odd;
    s * (half_square + r) + (k * LN2_LOW + c) - half_square + f + k * LN2_HIGH
}

/// `value` rounded to float32, to nearest even; infinite where it is too large.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the rounding is what is asked for
pub(crate) fn float32(value: f64) -> f32 {
    value as f32
}
