//! The corpus of a target: a text file with one input per line, in the form of [`slice::escape_ascii`].
//!
//! A failed test prints its input in this form, so that the line can be copied into the file.

/// Reads the inputs in the text of a corpus file.
///
/// # Errors
///
/// Names the first line that `escape_ascii` cannot have written.
pub fn inputs(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let input = |line: &str| {
        let input = unescaped(line).filter(|input| input.escape_ascii().to_string() == line);
        input.ok_or_else(|| format!("no escaped input: {line}"))
    };
    text.lines().map(input).collect()
}

fn unescaped(line: &str) -> Option<Vec<u8>> {
    let (mut input, mut rest) = (Vec::new(), line.bytes());
    while let Some(byte) = rest.next() {
        input.push(match byte {
            b'\\' => match rest.next()? {
                b'x' => u8::from_str_radix(str::from_utf8(&[rest.next()?, rest.next()?]).ok()?, 16).ok()?,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                escaped => escaped,
            },
            plain => plain,
        });
    }
    Some(input)
}

#[cfg(test)]
mod tests {
    use super::inputs;

    #[test]
    fn every_byte_is_read_as_it_was_escaped() {
        let all: Vec<u8> = (0..=255).collect();
        let text = format!("{}\n\nplain\n", all.escape_ascii());
        assert_eq!(inputs(&text), Ok(vec![all, Vec::new(), b"plain".to_vec()]));
    }

    #[test]
    fn a_line_that_is_not_escaped_is_named() {
        for line in ["\\", "\\q", "\\x4", "\\x41", "\"", "\u{e4}"] {
            assert_eq!(inputs(line), Err(format!("no escaped input: {line}")));
        }
    }
}
