//! TLS of the API.

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// With what the API is served over TLS; everything in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate, and those between it and its CA.
    pub certificate: String,
    /// The server's private key.
    pub key: String,
    /// Certificates of the CAs one of which must have signed a client's; `None`: clients need none.
    pub client_ca: Option<String>,
}

impl From<&Tls> for ServerTlsConfig {
    fn from(tls: &Tls) -> Self {
        let config = Self::new().identity(Identity::from_pem(&tls.certificate, &tls.key));
        match &tls.client_ca {
            Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
            None => config,
        }
    }
}
