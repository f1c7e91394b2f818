//! TLS for the API.

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

/// The certificates and the key for the API over TLS, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The server's certificate, and the certificates between it and its CA.
    pub certificate: String,
    pub key: String,
    /// Certificates of the CAs that may sign a client's certificate; `None`: clients need no certificate.
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
