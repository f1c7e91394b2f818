//! Requests for IPUs in Slurm's GRES grammar.

use std::fmt::{self, Write as _};

use crate::shown::shown;
use crate::{GresType, Words, words};

/// The `vipu` part of a job's GRES request, as written.
///
/// The count may be any number. [`crate::IpuCount`] checks that a partition can have this size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GresRequest {
    /// The model or the size, if the user named one.
    pub of: Option<GresType>,
    /// The number of IPUs, or of partitions with a size, if the user gave one.
    pub count: Option<u64>,
}

impl GresRequest {
    /// The request for one partition with this number of IPUs, as Slurm keeps it.
    pub fn of_one(of: GresType, ipus: u64) -> Self {
        Self { count: Some(of.count_of(ipus)), of: Some(of) }
    }

    /// Finds the `vipu` request in a GRES list such as `gres:gpu:2,gres/vipu:pod64:16`.
    ///
    /// Slurm 22.05 writes the prefix `gres:`, later releases `gres/`, and users none. All are read.
    /// `Ok(None)` means that the list asks for no IPUs.
    ///
    /// # Errors
    /// A `vipu` element does not follow the grammar, or there is more than one.
    pub fn find(tres: &str) -> Result<Option<Self>, Words> {
        let mut found: Option<(&str, Self)> = None;
        for element in tres.split(',').map(str::trim) {
            let Some(rest) = vipu_part(element) else { continue };
            if let Some((first, _)) = found {
                let (first, second) = (shown(first), shown(element));
                return Err(words!("'{first}' and '{second}': a job has one partition, ask for vipu once"));
            }
            found = Some((element, parse(element, rest)?));
        }
        Ok(found.map(|(_, request)| request))
    }

    /// The number of IPUs in a partition, if the user gave one. Otherwise it is one.
    pub fn ipus(&self) -> Option<u64> {
        match self.of {
            Some(GresType::Size(ipus)) => Some(ipus),
            Some(GresType::Model(_)) | None => self.count,
        }
    }

    /// Returns `tres` with this request in place of its `vipu` element, in the spelling of that element.
    /// `None` if it has no such element.
    pub fn replace_in(&self, tres: &str) -> Option<String> {
        let (mut replaced, mut has_one) = (String::with_capacity(tres.len() + 16), false);
        for element in tres.split(',') {
            if !replaced.is_empty() {
                replaced.push(',');
            }
            if vipu_part(element.trim()).is_some() {
                has_one = true;
                // Writing to a String cannot fail.
                let _ = write!(replaced, "{}{self}", gres_prefix(element.trim()).0);
            } else {
                replaced.push_str(element);
            }
        }
        has_one.then_some(replaced)
    }
}

impl fmt::Display for GresRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vipu")?;
        self.of.iter().try_for_each(|of| write!(f, ":{of}"))?;
        self.count.iter().try_for_each(|count| write!(f, ":{count}"))
    }
}

/// Removes `gres:` or `gres/` from the beginning.
fn gres_prefix(element: &str) -> (&str, &str) {
    for prefix in ["gres:", "gres/"] {
        if element.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix)) {
            return element.split_at(prefix.len());
        }
    }
    ("", element)
}

/// The text after `vipu`, with its colon, if the element asks for IPUs.
fn vipu_part(element: &str) -> Option<&str> {
    let (_, name) = gres_prefix(element);
    let rest = name.strip_prefix("vipu")?;
    (rest.is_empty() || rest.starts_with([':', '='])).then_some(rest)
}

fn parse(element: &str, rest: &str) -> Result<GresRequest, Words> {
    let mut parts = rest.split([':', '=']).skip(1).filter(|part| !part.is_empty());
    let (first, second) = (parts.next(), parts.next());
    if parts.next().is_some() {
        return Err(words!("'{}': write vipu:<model>:<count>", shown(element)));
    }
    let is_count = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let (of, count) = match (first, second) {
        (Some(only), None) if is_count(only) => (None, Some(only)),
        other => other,
    };
    let of = of.map(GresType::new).transpose();
    let of = of.map_err(|why| words!("'{}': {why}", shown(element)))?;
    Ok(GresRequest { of, count: count.map(|text| parse_count(element, text)).transpose()? })
}

/// Parses a count with Slurm's binary suffixes.
fn parse_count(element: &str, text: &str) -> Result<u64, Words> {
    let bad = || {
        let (element, count) = (shown(element), shown(text));
        words!("'{element}': '{count}' is not a number of IPUs")
    };
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1_u64),
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(tres: &str) -> Option<String> {
        GresRequest::find(tres).unwrap().map(|request| request.to_string())
    }

    #[test]
    fn every_documented_spelling_is_read() {
        for (tres, meaning) in [
            ("vipu", "vipu"),
            ("vipu:4", "vipu:4"),
            ("vipu:pod64", "vipu:pod64"),
            ("vipu:pod64:16", "vipu:pod64:16"),
            ("gres:vipu:pod64:16", "vipu:pod64:16"),
            ("gres/vipu:pod64:16", "vipu:pod64:16"),
            ("gres:gpu:2,gres:vipu:8", "vipu:8"),
            ("vipu:pod64:1k", "vipu:pod64:1024"),
            ("vipu:pod64=2", "vipu:pod64:2"),
            ("vipu:pod64:0", "vipu:pod64:0"),
            ("vipu:16:1", "vipu:16:1"),
            ("gres/vipu:16=2", "vipu:16:2"),
            ("vipu:1k", "vipu:1024"),
        ] {
            assert_eq!(found(tres).as_deref(), Some(meaning), "{tres}");
        }
    }

    #[test]
    fn other_gres_are_not_ours() {
        for tres in ["", "gpu:2", "gres:gpu:tesla:2", "vipux:3", "gres/novipu:1"] {
            assert_eq!(found(tres), None, "{tres}");
        }
    }

    #[test]
    fn nonsense_is_named() {
        for (tres, part) in [
            ("vipu:pod64:x", "'x' is not a number"),
            ("vipu:pod64:4:4", "write vipu:<model>:<count>"),
            ("vipu:4,gres:vipu:8", "ask for vipu once"),
            ("vipu:pod/64:4", "model 'pod/64'"),
            ("vipu:pod64:99999999999999999999", "is not a number"),
            ("vipu:016:1", "type '016': a number of IPUs without a zero"),
        ] {
            let error = GresRequest::find(tres).unwrap_err().to_string();
            assert!(error.contains(part), "{tres}: {error}");
        }
    }

    #[test]
    fn a_size_is_a_number_of_ipus_and_its_count_is_none() {
        let found = |tres| GresRequest::find(tres).unwrap().unwrap();
        for (tres, ipus) in
            [("vipu", None), ("vipu:16", Some(16)), ("vipu:16:2", Some(16)), ("vipu:a:2", Some(2))]
        {
            assert_eq!(found(tres).ipus(), ipus, "{tres}");
        }
        assert_eq!(GresRequest::of_one(GresType::Size(4), 4).to_string(), "vipu:4:1");
        assert_eq!(GresRequest::of_one(GresType::new("a").unwrap(), 4).to_string(), "vipu:a:4");
    }

    #[test]
    fn the_request_is_completed_in_its_own_spelling() {
        let request = GresRequest::of_one(GresType::new("pod64").unwrap(), 1);
        for (tres, replaced) in [
            ("gres:gpu:2,gres:vipu", Some("gres:gpu:2,gres:vipu:pod64:1")),
            ("gres/vipu:4", Some("gres/vipu:pod64:1")),
            ("vipu,gpu", Some("vipu:pod64:1,gpu")),
            ("gpu:2,novipu:1", None),
            ("", None),
        ] {
            assert_eq!(request.replace_in(tres).as_deref(), replaced);
        }
    }
}
