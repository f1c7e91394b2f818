//! Host lists: `n[01-36,40],login`.

/// The greatest number of names of a list. Slurm's own limit for a range is the same.
pub const MOST_HOSTS: usize = 64 * 1024;

/// What is wrong with a host list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHostList {
    /// A bracket that is not closed, or not opened.
    #[error("the brackets of '{0}' do not match")]
    Bracket(String),
    /// Something else than numbers in brackets.
    #[error("'{0}' is no range of numbers")]
    Range(String),
    /// More names than a cluster has.
    #[error("it has more than {MOST_HOSTS} names")]
    TooMany,
}

/// A host list. Its names are made when they are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostList {
    names: Vec<Pattern>,
    count: usize,
}

/// Names that differ in their numbers only.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    /// Texts, each with the numbers behind it.
    parts: Vec<(String, Vec<Range>)>,
    /// The text behind the last numbers.
    end: String,
    count: usize,
}

/// Numbers in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    low: usize,
    count: usize,
    /// The least number of digits, filled with zeros.
    width: usize,
}

impl HostList {
    /// Reads a list: names between commas, with ranges in brackets.
    ///
    /// # Errors
    /// When brackets or ranges are wrong, or there are more than [`MOST_HOSTS`] names.
    pub fn parse(text: &str) -> Result<Self, BadHostList> {
        let mut names = Vec::new();
        let mut count: usize = 0;
        for name in split(text) {
            let pattern = Pattern::parse(name)?;
            count += pattern.count;
            if count > MOST_HOSTS {
                return Err(BadHostList::TooMany);
            }
            names.push(pattern);
        }
        Ok(Self { names, count })
    }

    /// The number of names.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The names. One that is listed twice comes twice.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.names.iter().flat_map(|pattern| (0..pattern.count).map(|index| pattern.name(index)))
    }
}

/// The names of a list, at the commas and blanks outside brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let names = text.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_ascii_whitespace())
    });
    names.filter(|name| !name.is_empty())
}

impl Pattern {
    fn parse(name: &str) -> Result<Self, BadHostList> {
        let bracket = || BadHostList::Bracket(name.to_owned());
        let (mut parts, mut rest, mut count) = (Vec::new(), name, 1_usize);
        while let Some((text, after)) = rest.split_once('[') {
            let (inner, after) = after.split_once(']').ok_or_else(bracket)?;
            if text.contains(']') || inner.contains('[') {
                return Err(bracket());
            }
            let ranges = inner.split(',').map(range).collect::<Result<Vec<_>, _>>()?;
            let numbers = ranges.iter().map(|range| range.count).sum();
            count = count
                .checked_mul(numbers)
                .filter(|count| *count <= MOST_HOSTS)
                .ok_or(BadHostList::TooMany)?;
            parts.push((text.to_owned(), ranges));
            rest = after;
        }
        if rest.contains(']') {
            return Err(bracket());
        }
        Ok(Self { parts, end: rest.to_owned(), count })
    }

    /// The name with this index. The last numbers change fastest.
    fn name(&self, mut index: usize) -> String {
        let mut name = self.end.clone();
        for (text, ranges) in self.parts.iter().rev() {
            let count: usize = ranges.iter().map(|range| range.count).sum();
            name = format!("{text}{}{name}", number(ranges, index % count));
            index /= count;
        }
        name
    }
}

/// The number with this index.
fn number(ranges: &[Range], mut index: usize) -> String {
    for Range { low, count, width } in ranges {
        if index < *count {
            return format!("{:0width$}", low + index);
        }
        index -= count;
    }
    String::new()
}

/// Reads `7`, `07-12` or `7-`, which is 7 alone.
fn range(text: &str) -> Result<Range, BadHostList> {
    let wrong = || BadHostList::Range(text.to_owned());
    let (low, high) = text.split_once('-').unwrap_or((text, ""));
    let high = if high.is_empty() { low } else { high };
    // As many digits as a number of 64 bits can have, so that a name has a sane length.
    let number = |text: &str| {
        let is_number = text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<usize>().ok().filter(|_| is_number).ok_or_else(wrong)
    };
    let width = low.len();
    let (low, high) = (number(low)?, number(high)?);
    let count = high.checked_sub(low).ok_or_else(wrong)? + 1;
    if count > MOST_HOSTS { Err(BadHostList::TooMany) } else { Ok(Range { low, count, width }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cli_slurm_conf_host_lists_are_expanded() {
        for (text, names) in [
            ("", ""),
            ("a", "a"),
            ("a,b , c", "a b c"),
            ("n[08-10,7],x", "n08 n09 n10 n7 x"),
            ("n[8-10]", "n8 n9 n10"),
            ("r[1-2]n[01-02].x", "r1n01.x r1n02.x r2n01.x r2n02.x"),
            ("n[5-]", "n5"),
            ("a,a", "a a"),
        ] {
            let list = HostList::parse(text).unwrap();
            assert_eq!(list.names().collect::<Vec<_>>().join(" "), names, "{text}");
            assert_eq!(list.count(), list.names().count(), "{text}");
        }
    }

    #[test]
    fn cli_slurm_conf_host_lists_that_are_wrong() {
        for (text, part) in [
            ("n[1-2", "brackets"),
            ("n1-2]", "brackets"),
            ("n]1[", "brackets"),
            ("n[[1]]", "brackets"),
            ("n[]", "range"),
            ("n[3-1]", "range"),
            ("n[1-2-3]", "range"),
            ("n[1,]", "range"),
            ("n[+1]", "range"),
            ("n[x]", "range"),
            ("n[99999999999999999999]", "range"),
            ("n[0-9999999999]", "more than 65536"),
            ("n[0-999][0-999]", "more than 65536"),
            ("a[0-65535],b", "more than 65536"),
            ("n[0-9999][0-9999][0-9999][0-9999][0-9999][0-9999]", "more than 65536"),
        ] {
            let why = HostList::parse(text).unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
