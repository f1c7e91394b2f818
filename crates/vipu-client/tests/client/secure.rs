//! TLS, client certificates and access keys: accepted clients, and the errors of refused ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use mock_vipu::{Authority, Signed, Tls as ServerTls, User};
use tempfile::TempDir;
use tonic::Code;
use vipu_client::{Error, ErrorClass};
use vipu_types::{Access, Tls, TlsIdentity};

use super::*;

/// A folder of certificates and secrets.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file that only its owner can read, as a renewal does.
    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn identity(&self, signed: &Signed) -> TlsIdentity {
        TlsIdentity {
            certificate: self.put("client.pem", &signed.certificate),
            key: self.put("client.key", &signed.key),
        }
    }

    fn access(&self, user: &str, key: &str) -> Access {
        Access {
            file: self.put("access", &format!("api-user-id={user}\napi-access-key={key}\n")),
            user_id_metadata: "api-user-id".into(),
            access_key_metadata: "api-access-key".into(),
        }
    }
}

/// Starts a controller with this certificate. It serves clients of `client_ca`, or any client without one.
async fn server(own: &Signed, client_ca: Option<&Authority>, users: Vec<User>) -> MockServer {
    let (certificate, key) = (own.certificate.clone(), own.key.clone());
    let tls = Some(ServerTls { certificate, key, client_ca: client_ca.map(Authority::pem) });
    let options = Options { tls, users, ..Options::new(Hardware::preset("pod4").unwrap()) };
    MockServer::start(options).await.unwrap()
}

async fn secure_mode(users: &[(&str, &str)]) -> MockServer {
    let user = |&(name, key): &(&str, &str)| User { name: name.into(), key: key.into() };
    let users = users.iter().map(user).collect();
    MockServer::start(Options { users, ..Options::new(Hardware::preset("pod4").unwrap()) }).await.unwrap()
}

fn client(server: &MockServer, tls: Option<Tls>, access: Option<Access>) -> Client {
    let address = server.address();
    let plain = Endpoint::plain(address.ip().to_string(), address.port(), PATIENT);
    Client::new(Endpoint { tls, access, ..plain }).unwrap()
}

/// Checks that a call failed with these words before it was sent.
fn says(error: &Error, words: &str) {
    assert_eq!((error.class(), error.code()), (ErrorClass::NotSent, None), "{error}");
    assert_eq!(error.words(), words);
}

#[tokio::test]
async fn the_controllers_certificate_is_checked() {
    let (folder, authority) = (Folder::new(), Authority::new("site").unwrap());
    let ca = folder.put("ca.pem", &authority.pem());
    let tls = Tls { ca: ca.clone(), server_name: None, identity: None };
    let good = server(&authority.sign("127.0.0.1").unwrap(), None, vec![]).await;
    client(&good, Some(tls.clone()), None).list_partitions(None).await.unwrap();
    let plain = client(&good, None, None).list_partitions(None).await.unwrap_err();
    assert_eq!(plain.class(), ErrorClass::Unreachable, "{plain}");

    let expired = server(&authority.sign_expired("127.0.0.1").unwrap(), None, vec![]).await;
    let error = client(&expired, Some(tls.clone()), None).list_partitions(None).await.unwrap_err();
    says(&error, "the controller's certificate has expired: have it renewed there");

    // A renewed CA has the name of the old one.
    for name in ["others", "site"] {
        let other = Authority::new(name).unwrap();
        let of_others = server(&other.sign("127.0.0.1").unwrap(), None, vec![]).await;
        let error = client(&of_others, Some(tls.clone()), None).list_partitions(None).await.unwrap_err();
        let place = ca.display();
        says(&error, &format!("the controller's certificate is signed by no CA in {place} (ApiTlsCa)"));
    }

    let named = server(&authority.sign("vipu.example.org").unwrap(), None, vec![]).await;
    let error = client(&named, Some(tls.clone()), None).list_partitions(None).await.unwrap_err();
    let words = error.words();
    let told = words.starts_with("the controller's certificate is not for 127.0.0.1 but for ");
    assert!(told && words.contains("vipu.example.org"), "{error}");
    assert!(words.ends_with(": mend ApiTlsServerName or ApiHost"), "{error}");
    let tls = Tls { server_name: Some("vipu.example.org".into()), ..tls };
    client(&named, Some(tls), None).list_partitions(None).await.unwrap();
}

#[tokio::test]
async fn a_controller_without_tls_is_told_apart() {
    let (folder, plain) = (Folder::new(), pod64(Duration::ZERO).await);
    let ca = folder.put("ca.pem", &Authority::new("site").unwrap().pem());
    let tls = Tls { ca, server_name: None, identity: None };
    let error = client(&plain, Some(tls), None).list_partitions(None).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotSent);
    assert!(error.words().contains("no TLS"), "{error}");
}

#[tokio::test]
async fn the_clients_certificate_is_sent_and_its_refusal_reported() {
    let (folder, authority) = (Folder::new(), Authority::new("site").unwrap());
    let server = server(&authority.sign("127.0.0.1").unwrap(), Some(&authority), vec![]).await;
    let anonymous = Tls { ca: folder.put("ca.pem", &authority.pem()), server_name: None, identity: None };
    let error = client(&server, Some(anonymous.clone()), None).list_partitions(None).await.unwrap_err();
    says(&error, "the controller asks for a client certificate: give ApiTlsCert and ApiTlsKey");

    // The test uses one client from here on, because a renewed certificate needs no new client.
    let strange = folder.identity(&Authority::new("others").unwrap().sign("slurm").unwrap());
    let refused = format!("the controller refuses the client certificate {}", strange.certificate.display());
    let client = client(&server, Some(Tls { identity: Some(strange), ..anonymous }), None);
    for name in ["others", "site"] {
        folder.identity(&Authority::new(name).unwrap().sign("slurm").unwrap());
        let error = client.list_partitions(None).await.unwrap_err();
        says(&error, &format!("{refused} (ApiTlsCert): it does not trust the CA that signed it"));
    }
    folder.identity(&authority.sign_expired("slurm").unwrap());
    let error = client.list_partitions(None).await.unwrap_err();
    says(&error, &format!("{refused} (ApiTlsCert): it has expired, renew it"));
    folder.identity(&authority.sign("slurm").unwrap());
    client.list_partitions(None).await.unwrap();
    assert_eq!(client.list_ipus(&[]).await.unwrap().len(), 4);
}

#[tokio::test]
async fn unusable_files_are_named() {
    let (folder, authority) = (Folder::new(), Authority::new("site").unwrap());
    let server = server(&authority.sign("127.0.0.1").unwrap(), Some(&authority), vec![]).await;
    let own = authority.sign("slurm").unwrap();
    let identity = Some(folder.identity(&own));
    let tls = Tls { ca: folder.put("ca.pem", &authority.pem()), server_name: None, identity };
    let client = client(&server, Some(tls), None);
    let cases = [
        ("ca.pem", "none".to_owned(), "(ApiTlsCa): no certificate (PEM) in it"),
        ("client.pem", own.key.clone(), "(ApiTlsCert): no certificate (PEM) in it"),
        ("client.key", own.certificate.clone(), "(ApiTlsKey): no private key (PEM) in it"),
        ("client.key", authority.sign("slurm").unwrap().key, "(ApiTlsKey): not the key of "),
    ];
    for (name, text, words) in cases {
        let good = fs::read_to_string(folder.path(name)).unwrap();
        folder.put(name, &text);
        let error = client.list_partitions(None).await.unwrap_err();
        assert!(error.words().contains(&format!("{name} {words}")), "{error}");
        assert!(!error.words().contains("PRIVATE KEY"), "{error}");
        folder.put(name, &good);
    }
    fs::set_permissions(folder.path("client.key"), fs::Permissions::from_mode(0o640)).unwrap();
    let error = client.list_partitions(None).await.unwrap_err();
    let place = folder.path("client.key");
    let advice = format!("(mode 0640), so it is not used: chmod 600 {}", place.display());
    assert!(error.words().ends_with(&advice), "{error}");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o400)).unwrap();
    client.list_partitions(None).await.unwrap();
}

#[tokio::test]
async fn a_controller_in_secure_mode_knows_its_users() {
    let (folder, server) = (Folder::new(), secure_mode(&[("slurm", "right-key")]).await);
    let nobody = client(&server, None, None).list_partitions(None).await.unwrap_err();
    assert_eq!((nobody.class(), nobody.code()), (ErrorClass::Stranger, Some(Code::Unauthenticated)));
    assert!(nobody.words().ends_with("; the controller is in secure mode: give ApiAccessFile"), "{nobody}");

    let access = folder.access("slurm", "wrong-key");
    let advice = format!("; mend the user id or access key in {} (ApiAccessFile)", access.file.display());
    let client = client(&server, None, Some(access));
    let error = client.list_partitions(None).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Stranger);
    assert!(error.words().ends_with(&advice), "{error}");
    for shown in
        [error.to_string(), format!("{error:?}"), format!("{client:?}"), format!("{:?}", client.endpoint())]
    {
        assert!(!shown.contains("wrong-key"), "{shown}");
    }

    // After a refusal, the client reads the credentials again for the next call.
    folder.access("slurm", "right-key");
    assert_eq!(client.list_ipus(&[]).await.unwrap().len(), 4);
    client.create_partition(&wanted("p", 4)).await.unwrap();
}

#[tokio::test]
async fn a_renewed_access_key_is_used_before_the_old_one_is_refused() {
    let (folder, server) = (Folder::new(), secure_mode(&[("slurm", "old"), ("renewed", "new")]).await);
    let client = client(&server, None, Some(folder.access("slurm", "old")));
    client.list_partitions(None).await.unwrap();
    fs::set_permissions(folder.path("access"), fs::Permissions::from_mode(0o644)).unwrap();
    client.list_partitions(None).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(5)).await;
    tokio::time::resume();
    let error = client.list_partitions(None).await.unwrap_err();
    assert!(error.words().contains("(mode 0644), so it is not used: chmod 600 "), "{error}");
    folder.access("renewed", "new");
    client.list_partitions(None).await.unwrap();
}

#[tokio::test]
async fn tls_client_certificate_and_access_key_go_together() {
    let (folder, authority) = (Folder::new(), Authority::new("site").unwrap());
    let user = User { name: "slurm".into(), key: "right-key".into() };
    let server = server(&authority.sign("127.0.0.1").unwrap(), Some(&authority), vec![user]).await;
    let identity = Some(folder.identity(&authority.sign("slurm").unwrap()));
    let tls = Tls { ca: folder.put("ca.pem", &authority.pem()), server_name: None, identity };
    let refused =
        client(&server, Some(tls.clone()), Some(folder.access("slurm", "wrong"))).list_partitions(None).await;
    assert_eq!(refused.unwrap_err().class(), ErrorClass::Stranger);
    let client = client(&server, Some(tls), Some(folder.access("slurm", "right-key")));
    client.list_partitions(None).await.unwrap();
}
