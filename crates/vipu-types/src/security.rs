//! How a controller is spoken to, other than in cleartext and as nobody. Paths only: files change while we
//! run.

use std::path::PathBuf;

/// TLS to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificates (PEM) of the CAs that are trusted to sign the controller's.
    pub ca: PathBuf,
    /// The name that the controller's certificate has to have; `None`: the host that is connected to.
    pub server_name: Option<String>,
    /// What we show when the controller asks who we are.
    pub identity: Option<TlsIdentity>,
}

/// A client certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsIdentity {
    /// The certificate (PEM), and those between it and its CA.
    pub certificate: PathBuf,
    /// The private key (PEM).
    pub key: PathBuf,
}

/// The user of a controller in secure mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The file with the user id and the access key.
    pub file: PathBuf,
    /// The gRPC metadata in which the user id is sent.
    pub user_id_metadata: String,
    /// The gRPC metadata in which the access key is sent.
    pub access_key_metadata: String,
}
