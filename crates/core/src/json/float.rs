//! The float64 nearest to a decimal number, the even one of two as near, as IEEE 754 says and as the standard library reads it. That one
//! brings ten kilobytes of powers of five into every WebAssembly module, a fortieth of all of it; this is exact by whole numbers alone.

use alloc::vec;
use alloc::vec::Vec;

/// Digits that are looked at: no tie between two float64 has more than 767, so that of the rest only whether there is one matters.
const MOST_DIGITS: usize = 800;
/// Exponents beyond it are as far as any.
const FAR: i64 = 1 << 40;
/// Bits of a significand, the first one included.
const BITS: i32 = 53;
/// The exponent of two of the last bit of a significand: that of the smallest float64, and that of the greatest.
const LEAST: i32 = -1074;
const GREATEST: i32 = 971;

/// The value of a number as JSON writes it; infinite where it is too large.
pub(crate) fn nearest(text: &str) -> f64 {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let magnitude = Decimal::read(text).nearest();
    if negative { -magnitude } else { magnitude }
}

/// Digits, the first of which is no zero, times a power of ten.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let sign = if exponent.starts_with('-') { -1 } else { 1 };
        let digits = exponent.bytes().filter(u8::is_ascii_digit);
        let mut exponent = sign * digits.fold(0, |number: i64, digit| FAR.min(number * 10 + i64::from(digit - b'0')));
        let mut digits = Vec::new();
        let (mut is_fraction, mut is_inexact) = (false, false);
        for byte in mantissa.bytes() {
            if byte == b'.' {
                is_fraction = true;
                continue;
            }
            exponent -= i64::from(is_fraction);
            if digits.len() == MOST_DIGITS {
                exponent += 1;
                is_inexact |= byte != b'0';
            } else if byte != b'0' || !digits.is_empty() {
                digits.push(byte - b'0');
            }
        }
        if is_inexact {
            digits.push(1);
            exponent -= 1;
        }
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        Self { digits, exponent }
    }

    fn nearest(&self) -> f64 {
        // The number is below ten to the power of `end`, and at least a tenth of that.
        let end = self.exponent + i64::try_from(self.digits.len()).unwrap_or(FAR);
        let tens = u32::try_from(self.exponent.unsigned_abs()).unwrap_or(u32::MAX);
        if self.digits.is_empty() || end < -330 {
            return 0.0;
        }
        if end > 310 {
            return f64::INFINITY;
        }
        if self.digits.len() <= 18 && self.exponent <= 0 && tens <= 18 {
            // Both are below 2^60.
            let whole = self.digits.iter().fold(0, |number: u128, &digit| number * 10 + u128::from(digit));
            let shift = whole.leading_zeros();
            let (shifted, divisor) = (whole << shift, 10_u128.pow(tens));
            return rounded(shifted / divisor, shifted % divisor != 0, -i32::try_from(shift).unwrap_or(0));
        }
        let mut dividend = Whole(vec![0]);
        self.digits.iter().for_each(|&digit| dividend.multiply(10, digit.into()));
        let mut divisor = Whole(vec![1]);
        let scaled = if self.exponent < 0 { &mut divisor } else { &mut dividend };
        (0..tens / 9).for_each(|_| scaled.multiply(1_000_000_000, 0));
        (0..tens % 9).for_each(|_| scaled.multiply(10, 0));
        // A quotient of 64 or 65 bits.
        let shift = 64 + divisor.bits() - dividend.bits();
        dividend.double(u32::try_from(shift).unwrap_or(0));
        divisor.double(u32::try_from(-shift).unwrap_or(0));
        let quotient = dividend.divide(&mut divisor, 65);
        rounded(quotient, !dividend.is_zero(), -shift)
    }
}

/// The float64 nearest to `number` times a power of two, and a little more than that where it is inexact. `number` has more than 54 bits.
#[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)] // bits of a u128, and exponents of a float64
fn rounded(number: u128, is_inexact: bool, exponent: i32) -> f64 {
    let bits = 128 - number.leading_zeros() as i32;
    let last = (exponent + bits - BITS).max(LEAST);
    let drop = last - exponent;
    let (kept, half) = (number.checked_shr(drop as u32).unwrap_or(0), 1_u128.checked_shl(drop as u32 - 1).unwrap_or(0));
    let rest = number & (half << 1).wrapping_sub(1);
    let is_up = half != 0 && (rest > half || rest == half && (is_inexact || kept & 1 == 1));
    let significand = u64::try_from(kept).unwrap_or(0) + u64::from(is_up);
    if last > GREATEST {
        return f64::INFINITY;
    }
    // The bits of a float64 rise with its value, so that a significand without a first bit and one that overflows come out right.
    f64::from_bits((((last - LEAST) as u64) << (BITS - 1)) + significand)
}

/// A whole number, lowest 32 bits first.
struct Whole(Vec<u32>);

impl Whole {
    fn bits(&self) -> i32 {
        let top = self.0.iter().rposition(|&word| word != 0);
        let words = top.map_or(0, |at| 32 * i32::try_from(at + 1).unwrap_or(0));
        let zeros = top.and_then(|at| self.0.get(at)).map_or(0, |word| word.leading_zeros());
        words - i32::try_from(zeros).unwrap_or(0)
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    #[allow(clippy::cast_possible_truncation)] // the lower half
    fn multiply(&mut self, factor: u32, added: u32) {
        let mut carry = u64::from(added);
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry != 0 {
            self.0.push(carry as u32);
        }
    }

    fn double(&mut self, times: u32) {
        (0..times / 31).for_each(|_| self.multiply(1 << 31, 0));
        self.multiply(1 << (times % 31), 0);
    }

    /// The quotient, of at most so many bits; what is left stays.
    fn divide(&mut self, divisor: &mut Self, bits: u32) -> u128 {
        divisor.double(bits - 1);
        let length = self.0.len().max(divisor.0.len());
        self.0.resize(length, 0);
        divisor.0.resize(length, 0);
        let mut quotient = 0;
        for _ in 0..bits {
            let fits = self.0.iter().rev().ge(divisor.0.iter().rev());
            quotient = quotient << 1 | u128::from(fits);
            if fits {
                self.subtract(divisor);
            }
            divisor.halve();
        }
        quotient
    }

    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (word, &taken) in self.0.iter_mut().zip(&other.0) {
            let (first, under) = word.overflowing_sub(taken);
            let (second, under_again) = first.overflowing_sub(borrow.into());
            (*word, borrow) = (second, under || under_again);
        }
    }

    fn halve(&mut self) {
        let mut above = 0;
        for word in self.0.iter_mut().rev() {
            (*word, above) = (*word >> 1 | above << 31, *word & 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn check(text: &str) {
        let expected: f64 = text.parse().expect("a number");
        assert_eq!(nearest(text).to_bits(), expected.to_bits(), "{text}");
    }

    /// All digits of a float64, and of the middle between it and the next, which a digit more or less decides.
    fn neighbourhood(bits: u64) {
        let value = f64::from_bits(bits & !(1 << 63));
        let next = f64::from_bits(value.to_bits() + 1);
        if !value.is_finite() || !next.is_finite() {
            return;
        }
        let exact = |value: f64| format!("{value:.1080}");
        check(&exact(value));
        check(&format!("{value:e}"));
        check(&format!("{value:.17e}"));
        // Twice the middle is exact where both are halved, which no normal float64 minds.
        if value > 1e-300 && value < 1e300 {
            let middle: String = halfway(&exact(value), &exact(next));
            check(&middle);
            check(&format!("{middle}0000000000000000000000000001"));
        }
    }

    /// The decimal digits in the middle of two numbers with as many digits behind the point.
    fn halfway(low: &str, high: &str) -> String {
        let width = low.len().max(high.len());
        let padded =
            |text: &str| format!("{text:0>width$}0").bytes().map(|byte| i32::from(byte) - 48).collect::<Vec<_>>();
        let (low, high) = (padded(low), padded(high));
        let mut digits: Vec<i32> =
            low.iter().zip(&high).map(|(low, high)| if *low < 0 { -2 } else { low + high }).collect();
        // Carry from the right, then halve from the left.
        let mut carry = 0;
        for digit in digits.iter_mut().rev().filter(|digit| **digit >= 0) {
            *digit += carry;
            (carry, *digit) = (*digit / 10, *digit % 10);
        }
        let mut rest = carry;
        for digit in digits.iter_mut().filter(|digit| **digit >= 0) {
            let value = rest * 10 + *digit;
            (*digit, rest) = (value / 2, value % 2);
        }
        let text: String = digits
            .iter()
            .map(|&digit| char::from_digit(digit.unsigned_abs(), 10).filter(|_| digit >= 0).unwrap_or('.'))
            .collect();
        let zeros = text.len() - text.trim_start_matches('0').len();
        let text = &text[zeros..];
        if text.starts_with('.') { format!("0{text}") } else { text.into() }
    }

    #[test]
    fn every_kind_of_number_is_what_the_standard_library_reads() {
        const SEED: u64 = 31;
        for text in [
            "0.0",
            "-0.0",
            "0e5",
            "0.000e-400",
            "1e0",
            "-1.5E+2",
            "1e22",
            "1e23",
            "8.5e22",
            "9007199254740993.0",
            "5e-324",
            "2.5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "4.9e-324",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "1e-400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "123456789012345678.0",
            "0.30000000000000004",
            "179769313486231580793728971405301e276",
        ] {
            check(text);
        }
        check(&format!("{}.5e-3", "9".repeat(2000)));
        check(&format!("0.{}1", "0".repeat(2000)));
        check(&format!("1{}1e-1000", "0".repeat(1200)));
        let mut state = SEED;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        for round in 0..20_000 {
            let (digits, more, exponent) = (random(), random(), random() % 700);
            check(&format!(
                "{}.{}e{}",
                digits >> (random() % 64),
                more >> (random() % 64),
                i64::try_from(exponent).expect("small") - 350
            ));
            check(&format!("{}e-{}", digits >> (round % 50), exponent % 30));
        }
        (0..400).for_each(|_| neighbourhood(random()));
        // Without a first bit, and around where it begins.
        (0..400).for_each(|_| neighbourhood(random() >> (10 + random() % 53)));
        (0..64).for_each(|bit| neighbourhood((1 << bit) - 1));
    }
}
