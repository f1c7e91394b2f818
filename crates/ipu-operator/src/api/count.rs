//! Counts that users write as a number or as a text: `4` or `"4"`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// A value that is no count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no count: write a whole number above 0, as in 4 or \"4\"")]
pub struct BadCount(String);

/// The count that a field contains.
///
/// # Errors
/// The value is no whole number, or below 1.
pub fn count(value: &IntOrString) -> Result<u32, BadCount> {
    let (number, written) = match value {
        IntOrString::Int(number) => (u32::try_from(*number).ok(), number.to_string()),
        IntOrString::String(text) => {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            (text.parse().ok().filter(|_| digits), format!("\"{text}\""))
        }
    };
    number.filter(|number| *number > 0).ok_or(BadCount(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8s_counts_are_numbers_or_texts() {
        let text = |text: &str| count(&IntOrString::String(text.to_owned()));
        assert_eq!([count(&IntOrString::Int(4)), text("4"), text("04")], [Ok(4), Ok(4), Ok(4)]);
        for bad in ["", "0", "-1", "+1", "4.0", "four", " 4", "4294967296"] {
            assert!(text(bad).is_err(), "{bad}");
        }
        let zero = count(&IntOrString::Int(0)).unwrap_err().to_string();
        assert_eq!(zero, "0 is no count: write a whole number above 0, as in 4 or \"4\"");
    }
}
