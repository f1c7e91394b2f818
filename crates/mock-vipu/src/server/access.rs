//! Who may call: TLS with its certificates, and users with access keys. Without users, every client may call.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, IsCa, KeyPair, date_time_ymd,
};
use tonic::Code;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use crate::pod::Refusal;

/// The metadata of a call that hold the user's id and key. No public document names them; the mock chose.
const USER_ID: &str = "api-user-id";
const ACCESS_KEY: &str = "api-access-key";

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub key: String,
}

/// Refuses a call without the name and key of a known user.
pub(crate) fn check(users: &[User], metadata: &MetadataMap) -> Result<(), Refusal> {
    let shown = |name| metadata.get(name).map(|value| value.as_bytes());
    let (name, key) = (shown(USER_ID), shown(ACCESS_KEY));
    let is_caller = |user: &User| name == Some(user.name.as_bytes()) && key == Some(user.key.as_bytes());
    if users.is_empty() || users.iter().any(is_caller) {
        return Ok(());
    }
    let text = "the user id or the access key is missing or wrong".to_owned();
    Err(Refusal { code: Code::Unauthenticated, text })
}

/// An authority that signs certificates for tests.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct Signed {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// Makes an authority. Several may have the same name.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Signs a certificate for this host name, address or client.
    pub fn sign(&self, name: &str) -> Result<Signed, Error> {
        self.signed(CertificateParams::new([name.to_owned()])?)
    }

    pub fn sign_expired(&self, name: &str) -> Result<Signed, Error> {
        let mut params = CertificateParams::new([name.to_owned()])?;
        params.not_after = date_time_ymd(2020, 1, 1);
        self.signed(params)
    }

    fn signed(&self, params: CertificateParams) -> Result<Signed, Error> {
        let key = KeyPair::generate()?;
        Ok(Signed { certificate: params.signed_by(&key, &self.0)?.pem(), key: key.serialize_pem() })
    }
}
