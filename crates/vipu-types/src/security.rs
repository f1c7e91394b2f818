//! Credentials and certificates for connections to a controller. These are paths, because the files may
//! change while slurmctld runs.

use std::path::PathBuf;

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
