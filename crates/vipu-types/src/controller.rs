//! V-IPU controllers: their names, their Pods, and the credentials and certificates for connections to them. These are
//! paths, because the files may change while slurmctld runs.

use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{BadName, ModelName};

/// Host and port of a controller's user API, which identify the controller within its model.
///
/// The text form is `host:port`, with brackets around an IPv6 address. Equivalent spellings make equal names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ControllerName {
    host: String,
    port: u16,
}

impl ControllerName {
    /// The controller at this host name or address, an IPv6 address without brackets.
    ///
    /// # Errors
    /// No host can have this name, or the port is 0.
    pub fn new(host: &str, port: u16) -> Result<Self, BadName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let host = match host.parse::<Ipv6Addr>() {
            Ok(address) => address.to_string(),
            Err(_) if !host.is_empty() && host.chars().all(allowed) => host.to_ascii_lowercase(),
            Err(_) => return Err(bad(format!("{host}:{port}"))),
        };
        if port == 0 { Err(bad(format!("{host}:0"))) } else { Ok(Self { host, port }) }
    }

    /// Host name or address, an IPv6 address without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port of its user API.
    pub fn port(&self) -> u16 {
        self.port
    }
}

fn bad(text: String) -> BadName {
    BadName::new("controller", text, "a host name or address, ':' and a port")
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.host, self.port)
    }
}

impl FromStr for ControllerName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let parts = || {
            let (host, port) = text.rsplit_once(':')?;
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let port: u16 = port.parse().ok().filter(|_| digits)?;
            match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(address) => Some((address.parse::<Ipv6Addr>().ok()?.to_string(), port)),
                None => (!host.contains(':')).then(|| (host.to_owned(), port)),
            }
        };
        let (host, port) = parts().ok_or_else(|| bad(text.to_owned()))?;
        Self::new(&host, port)
    }
}

impl TryFrom<String> for ControllerName {
    type Error = BadName;
    fn try_from(text: String) -> Result<Self, BadName> {
        text.parse()
    }
}

impl From<ControllerName> for String {
    fn from(name: ControllerName) -> String {
        name.to_string()
    }
}

/// One Pod of a model: the IPUs of one of its controllers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodId {
    /// The model.
    pub model: ModelName,
    /// The controller.
    pub controller: ControllerName,
}

/// For example `pod64 (vipu1:8090)`.
impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.model, self.controller)
    }
}

/// TLS settings for a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The file with the CA certificates (PEM) that may sign the controller's certificate.
    pub ca: PathBuf,
    /// The name that the controller's certificate must have. `None` stands for the host name of the
    /// connection.
    pub server_name: Option<String>,
    /// The client certificate, for controllers that ask for one.
    pub identity: Option<TlsIdentity>,
}

/// A client certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsIdentity {
    /// The file with the certificate and its intermediate certificates (PEM).
    pub certificate: PathBuf,
    /// The file with the private key (PEM).
    pub key: PathBuf,
}

/// The user at a controller in secure mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The file with the user id and the access key.
    pub file: PathBuf,
    /// The key of the gRPC metadata that contains the user id.
    pub user_id_metadata: String,
    /// The key of the gRPC metadata that contains the access key.
    pub access_key_metadata: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_controller_has_one_name() {
        for (text, name) in [
            ("vipu:8090", "vipu:8090"),
            ("V1.Example.org:8090", "v1.example.org:8090"),
            ("10.1.3.101:1", "10.1.3.101:1"),
            ("[::1]:65535", "[::1]:65535"),
            ("[fd00:0::1]:8090", "[fd00::1]:8090"),
        ] {
            let read: ControllerName = text.parse().unwrap();
            assert_eq!(read.to_string(), name);
            assert_eq!(ControllerName::new(read.host(), read.port()), Ok(read));
        }
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_rule() {
        for text in
            ["", "vipu", ":8090", "vipu:", "vipu:0", "vipu:65536", "vipu:+1", "::1:8090", "[x]:1", "a,b:1"]
        {
            let error = text.parse::<ControllerName>().unwrap_err().to_string();
            assert!(error.starts_with("controller '") && error.contains("and a port"), "{text}: {error}");
        }
    }
}
