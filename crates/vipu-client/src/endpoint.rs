//! The address of a controller, and how long to wait for it.

use std::fmt;
use std::time::Duration;

use vipu_types::{Access, Tls};

/// The address of a controller, the timeout of one call, and how the two sides prove who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address (IPv6 without brackets).
    pub host: String,
    /// TCP port of the user API, usually 8090.
    pub port: u16,
    /// The longest time of one call, connecting included.
    pub timeout: Duration,
    /// TLS; `None` means cleartext.
    pub tls: Option<Tls>,
    /// Our credentials; `None` is enough for a controller that is not in secure mode.
    pub access: Option<Access>,
}

/// The host is neither a host name nor an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("controller host '{host}' is neither a host name nor an address")]
pub struct BadEndpoint {
    host: String,
}

impl Endpoint {
    /// Creates an endpoint in cleartext and without credentials.
    pub fn plain(host: impl Into<String>, port: u16, timeout: Duration) -> Self {
        Self { host: host.into(), port, timeout, tls: None, access: None }
    }

    pub(crate) fn uri(&self) -> Result<tonic::transport::Uri, BadEndpoint> {
        let bad = || BadEndpoint { host: self.host.clone() };
        let uri: tonic::transport::Uri = format!("http://{self}").parse().map_err(|_| bad())?;
        let same_host = uri.host().is_some_and(|host| host.trim_matches(['[', ']']) == self.host);
        let plain = uri.path() == "/" && uri.query().is_none() && uri.port_u16() == Some(self.port);
        (same_host && plain && !self.host.is_empty()).then_some(uri).ok_or_else(bad)
    }
}

/// `host:port`, as messages name the controller.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(host: &str) -> Result<String, BadEndpoint> {
        let endpoint = Endpoint::plain(host, 8090, Duration::from_secs(1));
        endpoint.uri().map(|uri| uri.to_string())
    }

    #[test]
    fn names_and_addresses_make_a_uri() {
        assert_eq!(uri("10.1.3.101").unwrap(), "http://10.1.3.101:8090/");
        assert_eq!(uri("vipu.example.org").unwrap(), "http://vipu.example.org:8090/");
        assert_eq!(uri("fd00::1").unwrap(), "http://[fd00::1]:8090/");
    }

    #[test]
    fn an_invalid_host_is_refused_by_name() {
        for host in ["", "a b", "a/b", "user@host", "host?x", "host#x"] {
            assert_eq!(uri(host), Err(BadEndpoint { host: host.into() }), "{host}");
        }
    }
}
