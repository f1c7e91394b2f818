//! Certificates to test with.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, IsCa, KeyPair, date_time_ymd,
};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// A new one of this name, which others may have, too.
    ///
    /// # Errors
    /// When there are no random numbers.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Self(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?))
    }

    /// Its own certificate, in PEM.
    #[must_use]
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for this host name, address or client.
    ///
    /// # Errors
    /// When it can be the name of none.
    pub fn sign(&self, name: &str) -> Result<Signed, Error> {
        self.signed(CertificateParams::new([name.to_owned()])?)
    }

    /// One that has expired.
    ///
    /// # Errors
    /// When it can be the name of none.
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
