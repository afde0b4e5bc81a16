//! Formats numbers with a meaningful number of digits: means with their confidence intervals, and others.

/// Largest number of digits of a mean, even if its confidence interval is narrower.
const MAX_DIGITS: i32 = 5;

/// `value` with `digits` significant digits; without exponent where readable.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "-".to_string();
    }
    if value == 0.0 {
        return "0".to_string();
    }
    // Round first: 9.996 becomes 10.00, which has another magnitude.
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let places = digits as i32 - 1 - exponent;
    if !(-4..=9).contains(&places) { text } else { format!("{value:.*}", places.max(0) as usize) }
}

/// `value` with at most three significant digits and no trailing zeros: `40`, `0.5`.
pub fn short(value: f64) -> String {
    let text = significant(value, 3);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

/// Number of decimal places that a confidence interval with this half-width justifies: up to the first digit of the
/// half-width, or its second digit if the first is 1.
fn places(half: f64) -> usize {
    let magnitude = half.log10().floor();
    let leading = half / 10f64.powf(magnitude);
    let places = if leading < 1.95 { 1.0 - magnitude } else { -magnitude };
    places.clamp(0.0, 9.0) as usize
}

/// A mean and the half-width of its confidence interval as text, `12.3 ± 0.4`. Without an interval only the mean;
/// without a mean a dash.
pub fn interval(mean: Option<f64>, half: Option<f64>) -> String {
    match (mean, half.filter(|half| half.is_finite())) {
        (None, _) => "-".to_string(),
        (Some(mean), None) => significant(mean, 4),
        // All runs agree, so the interval gives no digits.
        (Some(mean), Some(half)) if half < 1e-9 * mean.abs().max(1e-9) => format!("{} ± 0", significant(mean, 4)),
        (Some(mean), Some(half)) => {
            let most = MAX_DIGITS - 1 - mean.abs().max(half).log10().floor() as i32;
            let places = places(half).min(most.max(0) as usize);
            // Round up, so that the shown interval contains the real one.
            let unit = 10f64.powi(-(places as i32));
            let half = if half < unit { unit } else { half };
            format!("{} ± {half:.places$}", unsigned_zero(format!("{mean:.places$}")))
        }
    }
}

/// Turns `-0.00` into `0.00`.
fn unsigned_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| matches!(b, b'0' | b'.')) => rest.to_string(),
        _ => text,
    }
}

/// Adds a plus sign to a number as text, unless it has a minus sign, is zero or is not a number.
pub fn signed(text: String) -> String {
    let zero = text.split(' ').next().is_some_and(|value| value.bytes().all(|b| matches!(b, b'0' | b'.')));
    if zero || text.starts_with('-') { text } else { format!("+{text}") }
}

/// A whole number with a comma before each group of three digits, such as 1,234,567.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_rounded_to_given_significant_digits() {
        for (value, want) in [
            (0.0, "0"),
            (9.996, "9.996"),
            (9.9996, "10.00"),
            (0.03123, "0.03123"),
            (123_456.0, "123456"),
            (-0.5, "-0.5000"),
            (1e-9, "1.000e-9"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(significant(value, 4), want, "{value}");
        }
    }

    #[test]
    fn short_numbers_have_no_trailing_zeros() {
        assert_eq!([short(40.0), short(0.5), short(200.0), short(33.333)], ["40", "0.5", "200", "33.3"]);
    }

    #[test]
    fn digits_follow_width_of_confidence_interval() {
        for (mean, half, want) in [
            (49.8312, 1.234, "49.8 ± 1.2"),
            (49.8312, 0.0371, "49.83 ± 0.04"),
            (99.93, 12.7, "100 ± 13"),
            (1234.5, 321.0, "1234 ± 321"),
            (0.0, 0.0, "0 ± 0"),
            (3.0, 0.0, "3.000 ± 0"),
            (-0.001, 0.2, "0.0 ± 0.2"),
            (99.9993, 0.0019, "99.999 ± 0.002"),
            (9.978702, 0.000004, "9.9787 ± 0.0001"),
            (-123_456.7, 0.5, "-123457 ± 1"),
        ] {
            assert_eq!(interval(Some(mean), Some(half)), want);
        }
        assert_eq!(interval(Some(49.8312), None), "49.83");
        assert_eq!(interval(Some(49.8312), Some(f64::INFINITY)), "49.83");
        assert_eq!(interval(None, None), "-");
    }

    /// [`signed`] writes differences, [`grouped`] whole numbers with commas between groups of three digits.
    #[test]
    fn positive_differences_get_plus_grouped_thousands_get_commas() {
        assert_eq!(signed("1.2 ± 0.3".into()), "+1.2 ± 0.3");
        assert_eq!(signed("-1.2".into()), "-1.2");
        assert_eq!(signed("0.0 ± 0.3".into()), "0.0 ± 0.3");
        assert_eq!(signed("-".into()), "-");
        assert_eq!((grouped(7), grouped(1234), grouped(1_234_567)), ("7".into(), "1,234".into(), "1,234,567".into()));
    }
}
