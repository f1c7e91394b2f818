//! The readers of values. Each error says what would be valid.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::time::Duration;

use vipu_types::{
    ControllerName, Delivery, HostMap, IpuCount, NotASize, PartitionId, RequeuePause, Words, words,
};

use crate::choice::Placement;

/// A value, or a text that says what would be valid.
pub(crate) type Value<T> = Result<T, Words>;

/// The longest time that can be configured: a day.
const MAX_SECONDS: u64 = 86_400;

/// A list of controllers, each with a port of its own or with `default_port`.
pub(crate) fn controllers(text: &str, default_port: u16) -> Value<Vec<ControllerName>> {
    let mut found: Vec<ControllerName> = Vec::new();
    for element in text.split(',').map(str::trim) {
        let one = controller(element, default_port).map_err(|why| match text == element {
            true => why,
            false => words!("'{element}' is {why}"),
        })?;
        if found.contains(&one) {
            return Err(words!("{one} is given twice"));
        }
        found.push(one);
    }
    Ok(found)
}

pub(crate) fn controller(text: &str, default_port: u16) -> Value<ControllerName> {
    let (host, port) = match own_port(text) {
        Some((host, own)) => (host, port(own)?),
        None => (text, default_port),
    };
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = bare.filter(|bare| bare.parse::<Ipv6Addr>().is_ok());
    ControllerName::new(address.unwrap_or(host), port).map_err(|_| {
        let scheme = if text.contains("://") { "leave out the scheme: " } else { "" };
        words!("not a host ({scheme}a host name or address, and where it is not ApiPort :port)")
    })
}

/// Splits `host:port`. An IPv6 address has a port only behind its brackets.
fn own_port(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    let is_host = host.ends_with(']') || !host.contains(':');
    (is_host && !port.starts_with("//")).then_some((host, port))
}

pub(crate) fn port(text: &str) -> Value<u16> {
    number(text, 1, u16::MAX).ok_or("not a port (1-65535)".into())
}

/// The absolute path of a directory or file.
pub(crate) fn path(text: &str) -> Value<PathBuf> {
    if text.starts_with('/') { Ok(text.into()) } else { Err("not an absolute path (/...)".into()) }
}

/// The socket for the requests of administrators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminSocket {
    /// There is none.
    None,
    /// It has this path.
    At(PathBuf),
}

pub(crate) fn admin_socket(text: &str) -> Value<AdminSocket> {
    /// The longest path of a Unix socket, with room for the name under which slurmctld makes it.
    const LONGEST: usize = 90;
    match text {
        _ if text.eq_ignore_ascii_case("none") => Ok(AdminSocket::None),
        _ if text.starts_with('/') && text.len() <= LONGEST => Ok(AdminSocket::At(text.into())),
        _ => Err(words!("not an absolute path of at most {LONGEST} characters, and not none")),
    }
}

/// The file with the IPUs of each host: the value of `HostMap`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFile {
    /// Its path. A relative one begins at the directory of the model's file.
    pub path: PathBuf,
    /// Its content. Empty until the file is read.
    pub map: HostMap,
}

/// A number of things, at least one.
pub(crate) fn amount(text: &str) -> Value<u32> {
    number(text, 1, 1_000_000).ok_or("not a number of them (1-1000000)".into())
}

/// A number of things, zero included.
pub(crate) fn amount_or_none(text: &str) -> Value<u32> {
    number(text, 0, 1_000_000).ok_or("not a number of them (0-1000000)".into())
}

/// Numbers of IPUs, each for the name of `something`: `debug:16,short:32`.
fn ipus_by_name(text: &str, something: &str) -> Value<BTreeMap<String, u32>> {
    let mut found = BTreeMap::new();
    for element in text.split(',').map(str::trim) {
        let (name, ipus) = element.split_once(':').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            words!("'{element}' is not the name of {something} and a number of IPUs (name:16)")
        })?;
        let ipus = amount(ipus).map_err(|why| words!("'{element}' is {why}"))?;
        if found.insert(name.to_owned(), ipus).is_some() {
            return Err(words!("{name} is given twice"));
        }
    }
    Ok(found)
}

/// Numbers of IPUs, each for a Slurm partition.
pub(crate) fn ipus_by_partition(text: &str) -> Value<BTreeMap<String, u32>> {
    ipus_by_name(text, "a Slurm partition")
}

/// Numbers of IPUs, each for a QOS. Slurm ignores the case of their names.
pub(crate) fn ipus_by_qos(text: &str) -> Value<BTreeMap<String, u32>> {
    ipus_by_name(&text.to_ascii_lowercase(), "a QOS")
}

pub(crate) fn size(text: &str) -> Value<IpuCount> {
    let number = number(text, 0, u64::MAX).ok_or("not a number of IPUs (1, 2, 4, 8, ...)")?;
    IpuCount::new(number).map_err(|error| match error {
        NotASize::NotPowerOfTwo { below, above, .. } => {
            words!("{error}; the nearest are {below} and {above}")
        }
        NotASize::Zero | NotASize::TooLarge(_) => Words::of(error),
    })
}

/// A time of at least one second.
pub(crate) fn seconds(text: &str) -> Value<Duration> {
    let number = number(text, 1, MAX_SECONDS);
    number.map(Duration::from_secs).ok_or_else(|| words!("not a time (1-{MAX_SECONDS} seconds)"))
}

/// A time that may be zero.
pub(crate) fn seconds_or_none(text: &str) -> Value<Duration> {
    let number = number(text, 0, MAX_SECONDS);
    number.map(Duration::from_secs).ok_or_else(|| words!("not a time (0-{MAX_SECONDS} seconds)"))
}

pub(crate) fn requeue_pause(text: &str) -> Value<RequeuePause> {
    text.parse()
}

/// The time for which a partition stays idle. With Delivery=node, each node believes only ids of the job itself,
/// and the partition of an earlier job has another.
pub(crate) fn keep_idle(text: &str, is_delivered_by_node: bool) -> Value<Duration> {
    let time = seconds_or_none(text)?;
    match is_delivered_by_node && !time.is_zero() {
        true => Err("not possible with Delivery=node: use Delivery=file or api, or KeepIdle=0".into()),
        false => Ok(time),
    }
}

pub(crate) fn boolean(text: &str) -> Value<bool> {
    let is = |words: [&str; 3]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is(["1", "yes", "true"]) {
        Ok(true)
    } else if is(["0", "no", "false"]) {
        Ok(false)
    } else {
        Err("neither yes nor no (0, 1, yes, no, true, false)".into())
    }
}

pub(crate) fn delivery(text: &str) -> Value<Delivery> {
    text.parse()
}

/// Whether the controller or the plugin chooses IPUs. The plugin needs Cluster, and allows no Allocation.
pub(crate) fn placement(text: &str, cluster: bool, allocation: bool) -> Value<Placement> {
    match Placement::read(text)? {
        Placement::Explicit if !cluster => Err("of which V-IPU cluster? give Cluster too".into()),
        // The controller's user API does not tell which IPUs an allocation has.
        Placement::Explicit if allocation => Err("not possible beside Allocation".into()),
        placement => Ok(placement),
    }
}

pub(crate) fn prefix(text: &str) -> Value<String> {
    // The controller has to accept the longest id that there can be.
    match PartitionId::further(text, u32::MAX, u16::MAX, u16::MAX) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("not a prefix (a letter, then letters, digits, '_' or '-', at most 13 characters: \
                       a partition id has 36, and the job id and what tells its partitions apart need 23)"
            .into()),
    }
}

pub(crate) fn name(text: &str) -> Value<String> {
    if text.is_empty() { Err("not a name (empty)".into()) } else { Ok(text.to_owned()) }
}

/// The agents of an allocation, which has to be given too.
pub(crate) fn agents(text: &str, of_allocation: bool) -> Value<Vec<String>> {
    if !of_allocation {
        return Err("of which allocation? give Allocation too".into());
    }
    let mut found: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() {
            return Err("a name is empty".into());
        }
        if found.iter().any(|known| known == name) {
            return Err(words!("{name} is given twice"));
        }
        found.push(name.to_owned());
    }
    Ok(found)
}

/// A key under which gRPC sends text with a call.
pub(crate) fn metadata(text: &str) -> Value<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    if text.is_empty() || !text.bytes().all(plain) || text.ends_with("-bin") || text.starts_with("grpc-") {
        let rules = "small letters, digits, '-', '_' and '.'; neither grpc-... nor ...-bin";
        return Err(words!("not a key of gRPC metadata ({rules})"));
    }
    Ok(text.to_owned())
}

/// A decimal number between two bounds. Rust's own reader would also accept `+5`.
fn number<T: std::str::FromStr + PartialOrd>(text: &str, low: T, high: T) -> Option<T> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits)?;
    (low <= number && number <= high).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::SizePolicy;

    fn names(text: &str) -> Value<Vec<String>> {
        Ok(controllers(text, 8090)?.iter().map(ControllerName::to_string).collect())
    }

    #[test]
    fn one_controller() {
        for (text, name) in [
            ("vipu-server", "vipu-server:8090"),
            ("10.1.2.3", "10.1.2.3:8090"),
            ("a_b.example.org:1", "a_b.example.org:1"),
            ("::1", "[::1]:8090"),
            ("[fe80::1]", "[fe80::1]:8090"),
            ("[fe80::1]:65535", "[fe80::1]:65535"),
        ] {
            assert_eq!(names(text), Ok(vec![name.to_owned()]), "{text}");
        }
        for bad in ["", "a b", "http://x", "http://x:1", "[x]", "[x]:1", "é", "x/y", "::1:80909", ":1"] {
            assert!(names(bad).unwrap_err().starts_with("not a host ("), "{bad}: {:?}", names(bad));
        }
        for bad in ["x:", "x:0", "x:65536", "x:y", "[::1]:"] {
            assert_eq!(names(bad), Err("not a port (1-65535)".into()), "{bad}");
        }
    }

    #[test]
    fn several_controllers_keep_their_order() {
        assert_eq!(names("b,a:1, ::1").unwrap(), ["b:8090", "a:1", "[::1]:8090"]);
        assert!(names("a,").unwrap_err().starts_with("'' is not a host ("));
        assert!(names("a,b:x").unwrap_err().starts_with("'b:x' is not a port ("));
        for twice in ["a,b,a", "a,A:8090", "::1,[0:0::1]"] {
            assert!(names(twice).unwrap_err().ends_with(":8090 is given twice"), "{twice}");
        }
    }

    #[test]
    fn numbers_are_digits_within_bounds() {
        for bad in ["", "0", "65536", "9x", "+5", "-1", " 5", "99999999999999999999", "٣"] {
            assert_eq!(port(bad), Err("not a port (1-65535)".into()), "{bad}");
        }
        assert_eq!(port("65535"), Ok(65535));
        assert!(seconds("0").is_err() && seconds("86401").is_err());
        assert_eq!(seconds_or_none("0"), Ok(Duration::ZERO));
        assert!(size("48").unwrap_err().contains("32 and 64"));
        assert!(size("18446744073709551615").is_err());
    }

    #[test]
    fn words_are_read_in_any_case() {
        for (text, value) in [("YES", true), ("True", true), ("1", true), ("No", false), ("0", false)] {
            assert_eq!(boolean(text), Ok(value), "{text}");
        }
        assert!(boolean("2").is_err() && boolean("").is_err());
        assert_eq!(SizePolicy::read("Round-Up"), Ok(SizePolicy::RoundUp));
        assert_eq!(SizePolicy::read("round"), Err("not known (reject, round-up)".into()));
    }

    #[test]
    fn an_explicit_placement_needs_a_cluster_to_itself() {
        assert_eq!(placement("Controller", false, true), Ok(Placement::Controller));
        assert_eq!(placement("EXPLICIT", true, false), Ok(Placement::Explicit));
        assert!(placement("explicit", false, false).unwrap_err().contains("give Cluster"));
        assert!(placement("explicit", true, true).unwrap_err().contains("beside Allocation"));
        assert!(placement("best", true, false).unwrap_err().contains("controller, explicit"));
    }

    #[test]
    fn limits_are_by_name() {
        let two = [("debug".to_owned(), 16), ("short".to_owned(), 32)];
        let read = ipus_by_partition;
        assert_eq!(read("debug:16, short:32"), Ok(two.into()));
        assert_eq!(read("debug:1,debug:2"), Err("debug is given twice".into()));
        for bad in ["", "debug", ":16", "debug:16,"] {
            assert!(read(bad).unwrap_err().contains("is not the name of a Slurm partition"), "{bad}");
        }
        assert!(read("debug:0").unwrap_err().starts_with("'debug:0' is not a number"));
        assert_eq!(ipus_by_qos("Low:8"), Ok([("low".to_owned(), 8)].into()));
        assert_eq!(ipus_by_qos("Low:8,low:4"), Err("low is given twice".into()));
        assert!(ipus_by_qos("low").unwrap_err().contains("is not the name of a QOS"));
    }

    #[test]
    fn agents_are_of_an_allocation_and_given_once() {
        assert_eq!(agents("ag1, ag2", true), Ok(vec!["ag1".to_owned(), "ag2".to_owned()]));
        assert_eq!(agents("ag1,,ag2", true), Err("a name is empty".into()));
        assert_eq!(agents("ag1,ag2,ag1", true), Err("ag1 is given twice".into()));
        assert!(agents("ag1", false).unwrap_err().contains("give Allocation too"));
    }

    #[test]
    fn only_metadata_keys_for_text_are_accepted() {
        assert_eq!(metadata("x-api_key.2"), Ok("x-api_key.2".to_owned()));
        for bad in ["", "Key", "a b", "key-bin", "grpc-timeout", "é"] {
            assert!(metadata(bad).unwrap_err().starts_with("not a key"), "{bad}");
        }
    }

    #[test]
    fn the_longest_prefix_makes_the_longest_id() {
        assert!(prefix(&"p".repeat(13)).is_ok());
        for bad in ["", "9a", "a b", &"p".repeat(14)] {
            assert!(prefix(bad).is_err(), "{bad}");
        }
    }
}
