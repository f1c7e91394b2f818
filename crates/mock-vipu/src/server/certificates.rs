//! Certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, IsCa, KeyPair, date_time_ymd,
};

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
