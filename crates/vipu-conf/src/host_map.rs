//! The file with the IPUs of each host (`HostMap`).
//!
//! Each line is one host:
//!
//! ```text
//! # host   IPUs    agents of its IPU-Machines
//! gc-01    0-15    ag1,ag2,ag3,ag4
//! ```

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use vipu_types::{HostAgent, HostIpus, HostMap, IpuCount};

use crate::error::Broken;
use crate::problem::{Problem, Reason, Spot};

/// IPUs in one IPU-Machine.
const MACHINE: u32 = 4;

/// A word of the file, with its place in bytes.
type Word<'a> = (&'a str, Range<usize>);

/// An error, and the bytes that it is about.
type Fault = (String, Range<usize>);

/// Reads the text of a file. `path` appears only in errors.
///
/// # Errors
/// All errors in the text, not only the first.
pub(crate) fn parse(text: &str, path: &Path) -> Result<HostMap, Broken> {
    let mut reader = Reader { text, file: path, hosts: Vec::new(), agents: HashMap::new() };
    let mut faults: Vec<Fault> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.split('#').next().unwrap_or_default();
        let words: Vec<Word<'_>> = words(content, start).collect();
        start += line.len();
        if let Some(first) = words.first()
            && let Err(fault) = reader.line(first, &words)
        {
            faults.push(fault);
        }
    }
    if faults.is_empty() && reader.hosts.is_empty() {
        let problem = Problem { reason: Reason::HostMap { fault: format!("no host: {FORM}") }, spot: None };
        return Err(Broken { path: path.into(), problems: vec![problem] });
    }
    if faults.is_empty() {
        return Ok(HostMap { hosts: reader.hosts.into_iter().map(|(host, _)| host).collect() });
    }
    let problem = |(fault, span): Fault| Problem {
        reason: Reason::HostMap { fault },
        spot: Some(Spot::of(text, &span)),
    };
    Err(Broken { path: path.into(), problems: faults.into_iter().map(problem).collect() })
}

const FORM: &str = "each line is <host> <first IPU>-<last IPU> <agent>,<agent>...";

fn words(content: &str, start: usize) -> impl Iterator<Item = Word<'_>> {
    content.split_whitespace().map(move |word| {
        let at = start + (word.as_ptr() as usize - content.as_ptr() as usize);
        (word, at..at + word.len())
    })
}

/// The hosts so far, with their lines, and the lines of their agents.
struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
    hosts: Vec<(HostIpus, usize)>,
    agents: HashMap<&'a str, usize>,
}

impl<'a> Reader<'a> {
    fn line(&mut self, first: &Word<'a>, words: &[Word<'a>]) -> Result<(), Fault> {
        let [host, ipus, agents] = words else {
            return Err(match words.get(3) {
                Some((_, span)) => ("agents are written without blanks: ag1,ag2".into(), span.clone()),
                None => {
                    (format!("something is missing: {FORM}"), first.1.start..words[words.len() - 1].1.end)
                }
            });
        };
        let line = Spot::of(self.text, &first.1).line;
        self.check_name(host)?;
        let range = self.read_ipus(ipus)?;
        let agents = self.read_agents(agents, range.end - range.start, line)?;
        self.hosts.push((HostIpus { host: host.0.to_owned(), ipus: range, agents }, line));
        Ok(())
    }

    fn check_name(&self, (host, span): &Word<'_>) -> Result<(), Fault> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !host.chars().all(is_plain) {
            return Err((format!("'{host}' is not the name of one host"), span.clone()));
        }
        match self.hosts.iter().find(|(known, _)| known.host == *host) {
            Some((_, line)) => Err((format!("{host} has its IPUs in line {line} already"), span.clone())),
            None => Ok(()),
        }
    }

    /// The IPUs of a host: as many as those of the hosts before, and none of theirs.
    fn read_ipus(&self, (text, span): &Word<'_>) -> Result<Range<u32>, Fault> {
        let fault = |why: String| (why, span.clone());
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| is_number(text) && *n < 1 << 20);
        let range = text.split_once('-').and_then(|(first, last)| Some(number(first)?..number(last)? + 1));
        let Some(range) = range.filter(|range| range.start < range.end) else {
            return Err(fault(format!("'{text}' is not <first IPU>-<last IPU>, as in 0-15")));
        };
        let count = range.end - range.start;
        IpuCount::new(count.into()).map_err(|why| fault(format!("{text} are {count} IPUs: {why}")))?;
        if range.start % count != 0 {
            let first = range.start / count * count;
            return Err(fault(format!(
                "no partition has the IPUs {text}: {count} IPUs begin at a multiple of {count}, as in {first}-{}",
                first + count - 1
            )));
        }
        if let Some((other, line)) = self.hosts.iter().find(|(other, _)| other.ipus.len() != range.len()) {
            return Err(fault(format!(
                "{count} IPUs here, but {} has {} in line {line}: all hosts of a model have as many",
                other.host,
                other.ipus.len()
            )));
        }
        let shares = |other: &HostIpus| other.ipus.start < range.end && range.start < other.ipus.end;
        match self.hosts.iter().find(|(other, _)| shares(other)) {
            Some((other, line)) => {
                Err(fault(format!("{text} are IPUs of {} already, in line {line}", other.host)))
            }
            None => Ok(range),
        }
    }

    /// The agents of this many IPUs.
    fn read_agents(
        &mut self,
        (text, span): &Word<'a>,
        ipus: u32,
        line: usize,
    ) -> Result<Vec<HostAgent>, Fault> {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy().into_owned();
        let mut found = Vec::new();
        for agent in text.split(',') {
            let start = span.start + (agent.as_ptr() as usize - text.as_ptr() as usize);
            let own = start..start + agent.len();
            if agent.contains('\u{fffd}') {
                return Err((format!("'{agent}' is not UTF-8: write the file in UTF-8"), own));
            }
            if agent.is_empty() {
                return Err(("the name of an agent is empty".into(), own));
            }
            if let Some(other) = self.agents.insert(agent, line) {
                return Err((format!("agent {agent} is in line {other} already"), own));
            }
            let place = format!("{name}:{line}:{}", Spot::of(self.text, &own).column);
            found.push(HostAgent { name: agent.to_owned(), place });
        }
        let machines = ipus.div_ceil(MACHINE) as usize;
        match found.len() == machines {
            true => Ok(found),
            false => Err((
                format!("{ipus} IPUs are in {machines} IPU-Machines of {MACHINE}, not in {}", found.len()),
                span.clone(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<HostMap, Broken> {
        parse(text, Path::new("/etc/slurm/hosts.map"))
    }

    #[test]
    fn mode_host_map_has_the_ipus_of_each_host() {
        let map = read("# Pod 1\r\n\n gc-02\t4-7 ag2 # second\r\ngc-01 0-3 ag1").unwrap();
        let hosts: Vec<_> = map.hosts.iter().map(|it| (it.host.as_str(), it.ipus.clone())).collect();
        assert_eq!(hosts, [("gc-02", 4..8), ("gc-01", 0..4)]);
        assert_eq!((map.ipus_of_each(), map.hosts[0].agents[0].place.as_str()), (4, "hosts.map:3:12"));
        let map = read("a 0-7 ag1,ag2\nb 8-15 ag3,ag4").unwrap();
        let agents: Vec<_> = map.hosts[1].agents.iter().map(|it| (&*it.name, &*it.place)).collect();
        assert_eq!(agents, [("ag3", "hosts.map:2:8"), ("ag4", "hosts.map:2:12")]);
        assert_eq!(read("one 0-1 ag1\ntwo 2-3 ag2").unwrap().ipus_of_each(), 2, "part of an IPU-Machine");
    }

    #[test]
    fn mode_host_map_errors_have_line_and_column() {
        for (text, place, part) in [
            ("a 0-3", "1:1:", "something is missing"),
            ("a 0-7 ag1, ag2", "1:12:", "agents are written without blanks"),
            ("a[1-2] 0-3 ag1", "1:1:", "'a[1-2]' is not the name of one host"),
            ("a 0-3 ag1\na 4-7 ag2", "2:1:", "a has its IPUs in line 1 already"),
            ("a 0..3 ag1", "1:3:", "'0..3' is not <first IPU>-<last IPU>"),
            ("a 3-0 ag1", "1:3:", "'3-0' is not"),
            ("a +0-3 ag1", "1:3:", "'+0-3' is not"),
            ("a 0-4294967295 ag1", "1:3:", "is not <first IPU>"),
            ("a 0-11 ag1,ag2,ag3", "1:3:", "0-11 are 12 IPUs: 12"),
            ("a 8-23 ag1,ag2,ag3,ag4", "1:3:", "16 IPUs begin at a multiple of 16, as in 0-15"),
            ("a 0-3 ag1\nb 8-15 ag2,ag3", "2:3:", "8 IPUs here, but a has 4 in line 1"),
            ("a 0-3 ag1\nb 0-3 ag2", "2:3:", "0-3 are IPUs of a already, in line 1"),
            ("a 0-3 ag1\nb 4-7 ag1", "2:7:", "agent ag1 is in line 1 already"),
            ("a 0-3 caf\u{fffd}", "1:7:", "'caf\u{fffd}' is not UTF-8"),
            ("a 0-7 ag1,", "1:11:", "the name of an agent is empty"),
            ("a 0-7 ag1", "1:7:", "8 IPUs are in 2 IPU-Machines of 4, not in 1"),
        ] {
            let why = read(text).unwrap_err().to_string();
            assert!(
                why.starts_with(&format!("/etc/slurm/hosts.map:{place} ")) && why.contains(part),
                "{why}"
            );
        }
        let why = read("# nothing").unwrap_err();
        assert_eq!(why.one_line(), format!("hosts.map: no host: {FORM}"));
        let why = read("a 0..3 ag1\nb 4-7").unwrap_err();
        assert_eq!(why.problems.len(), 2, "{why}");
    }
}
