//! The certificates of a cluster and the configuration files of its clients.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use serde_json::json;

/// The group that may do everything.
pub(crate) const MASTERS: &str = "system:masters";

/// The authority of a cluster, which signs all its certificates. The folder has `ca.crt`, and the keys of service
/// accounts' tokens, `tokens.key` and `tokens.pub`.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: PathBuf,
}

impl Authority {
    pub fn new(folder: &Path) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "testbed");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        fs::write(folder.join("ca.crt"), issuer.pem())?;
        let tokens = KeyPair::generate()?;
        fs::write(folder.join("tokens.key"), tokens.serialize_pem())?;
        fs::write(folder.join("tokens.pub"), tokens.public_key_pem())?;
        Ok(Self { issuer, folder: folder.to_owned() })
    }

    /// Writes `<name>.crt` and `<name>.key`, for a server at this address and at 127.0.0.1, and for a client who is this
    /// user of this group.
    pub fn sign(&self, name: &str, user: &str, group: Option<&str>, address: Ipv4Addr) -> Result<()> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.subject_alt_names =
            [Ipv4Addr::LOCALHOST, address].map(|at| SanType::IpAddress(IpAddr::V4(at))).to_vec();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        fs::write(self.folder.join(format!("{name}.crt")), certificate.pem())?;
        Ok(fs::write(self.folder.join(format!("{name}.key")), key.serialize_pem())?)
    }

    /// Does [`Authority::sign`], and writes `<name>.kubeconfig` for the API server at this URL.
    pub fn client(
        &self,
        name: &str,
        user: &str,
        group: Option<&str>,
        address: Ipv4Addr,
        url: &str,
    ) -> Result<()> {
        self.sign(name, user, group, address)?;
        let file = |suffix: &str| self.folder.join(format!("{name}.{suffix}"));
        // JSON is YAML.
        let configuration = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "testbed",
                "cluster": { "server": url, "certificate-authority": self.folder.join("ca.crt") },
            }],
            "users": [{
                "name": name,
                "user": { "client-certificate": file("crt"), "client-key": file("key") },
            }],
            "contexts": [{ "name": "testbed", "context": { "cluster": "testbed", "user": name } }],
            "current-context": "testbed",
        });
        Ok(fs::write(file("kubeconfig"), configuration.to_string())?)
    }
}
