//! The API over TLS, called by tonic's own client.

use std::net::SocketAddr;

use mock_vipu::{Authority, Effect, Fault, Hardware, MockServer, Options, Rpc, Signed, StartError, Tls};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Identity};
use tonic::{Code, Status};
use vipu_client::wire::user_service_client::UserServiceClient;
use vipu_client::wire::version_service_client::VersionServiceClient;
use vipu_client::wire::{CreatePartitionRequest, PartitionRequirements, VersionRequest};
use vipu_client::{Call, ErrorClass};

use super::{PATIENT, Program, client_at, refused_start};

/// What a client that trusts this authority connects with.
fn trusted(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority.pem()))
}

fn identity(signed: &Signed) -> Identity {
    Identity::from_pem(&signed.certificate, &signed.key)
}

fn channel(address: SocketAddr, tls: ClientTlsConfig) -> Channel {
    let endpoint = Channel::from_shared(format!("https://{address}")).unwrap().timeout(PATIENT);
    endpoint.tls_config(tls).unwrap().connect_lazy()
}

async fn version(address: SocketAddr, tls: ClientTlsConfig) -> Result<String, Status> {
    let mut api = VersionServiceClient::new(channel(address, tls));
    Ok(api.get_version(VersionRequest {}).await?.into_inner().version)
}

async fn server(tls: Tls) -> Result<MockServer, StartError> {
    MockServer::start(Options { tls: Some(tls), ..Options::new(Hardware::preset("pod4").unwrap()) }).await
}

#[tokio::test]
async fn only_who_speaks_tls_and_trusts_the_server_is_served() {
    let authority = Authority::new("site").unwrap();
    let Signed { certificate, key } = authority.sign("127.0.0.1").unwrap();
    let server = server(Tls { certificate, key, client_ca: None }).await.unwrap();

    let plain = client_at(server.address()).version().await.unwrap_err();
    assert_eq!(plain.class(), ErrorClass::Unreachable, "{plain}");
    version(server.address(), trusted(&Authority::new("others").unwrap())).await.unwrap_err();
    assert_eq!(server.mock().report().calls(Call::GetVersion), 0);
    assert_eq!(version(server.address(), trusted(&authority)).await.unwrap(), "1.18.0");

    server.mock().inject(Fault::new(Effect::LostReply { rpc: Some(Rpc(Call::CreatePartition)) }).times(1));
    let mut api = UserServiceClient::new(channel(server.address(), trusted(&authority)));
    let wanted = PartitionRequirements { id: "p".into(), size: 4, ..PartitionRequirements::default() };
    let request = CreatePartitionRequest { requirements: Some(wanted), ..CreatePartitionRequest::default() };
    let lost = api.create_partition(request).await.unwrap_err();
    assert_ne!(lost.code(), Code::Cancelled, "not cut, but given up: {lost}");
    assert!(server.mock().report().partition("p").is_some());
}

#[tokio::test]
async fn the_program_asks_clients_for_certificates() {
    let (authority, of_clients) = (Authority::new("site").unwrap(), Authority::new("site").unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let Signed { certificate, key } = authority.sign("127.0.0.1").unwrap();
    let (certificate, key) = (file("server.crt", &certificate), file("server.key", &key));
    let of_clients_file = file("clients.crt", &of_clients.pem());
    let arguments = [
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &of_clients_file,
        "--preset",
        "pod4",
    ];
    let program = Program::start(&arguments);

    version(program.api, trusted(&authority)).await.unwrap_err();
    let stranger = identity(&authority.sign("client").unwrap());
    version(program.api, trusted(&authority).identity(stranger)).await.unwrap_err();
    assert_eq!(program.control().report().unwrap().calls(Call::GetVersion), 0);
    let known = identity(&of_clients.sign("client").unwrap());
    assert_eq!(version(program.api, trusted(&authority).identity(known)).await.unwrap(), "1.18.0");

    let words = refused_start(&["--tls-cert", &certificate, "--tls-key", &certificate]);
    assert!(words.contains("private key"), "{words}");
    let words = refused_start(&["--tls-cert", &certificate]);
    assert!(words.contains("--tls-key"), "{words}");
    let words = refused_start(&["--tls-cert", "/none", "--tls-key", &key]);
    assert!(words.contains("/none"), "{words}");
}

#[tokio::test]
async fn a_certificate_that_is_none_keeps_the_server_from_starting() {
    let Signed { certificate, key } = Authority::new("site").unwrap().sign("127.0.0.1").unwrap();
    let none = || "no certificate".to_owned();
    let cases = [
        Tls { certificate: none(), key: key.clone(), client_ca: None },
        Tls { certificate: certificate.clone(), key: none(), client_ca: None },
        Tls { certificate, key, client_ca: Some(none()) },
    ];
    for tls in cases {
        assert!(matches!(server(tls.clone()).await, Err(StartError::Tls(_))), "{tls:?}");
    }
}
