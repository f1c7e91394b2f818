//! Connects over TLS, with the files as they are at that moment, and says what is wrong if it fails.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{
    AlertDescription as Alert, CertificateError, ClientConfig, Error as TlsError, RootCertStore,
};
use tonic::codegen::{Service, StdError, http::Uri};
use vipu_types::{Tls, TlsIdentity};

use crate::BoundedThreads;
use crate::files::{Named, Trouble, off_thread};
use crate::names::Names;

/// How long to wait for the controller's first bytes. HTTP/2 servers send first, and with TLS 1.3 a refusal
/// of the client's certificate comes here. If the client sent first, a reset could lose the refusal.
const FIRST_WORD: Duration = Duration::from_secs(1);

/// A connection after the wait for the first bytes.
type Stream = BufReader<TlsStream<TcpStream>>;

/// Makes TLS connections.
pub(crate) struct Connector {
    tcp: HttpConnector<Names>,
    tls: Arc<Tls>,
    host: String,
    threads: BoundedThreads,
}

impl Connector {
    pub(crate) fn new(tcp: HttpConnector<Names>, tls: &Tls, host: &str, threads: BoundedThreads) -> Self {
        Self { tcp, tls: Arc::new(tls.clone()), host: host.to_owned(), threads }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = StdError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, StdError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StdError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connecting, tls) = (self.tcp.call(uri), Arc::clone(&self.tls));
        let threads = self.threads.clone();
        let name = tls.server_name.clone().unwrap_or_else(|| self.host.clone());
        Box::pin(async move {
            let files = Arc::clone(&tls);
            let config = off_thread(&threads, move || config(&files)).await?;
            let server = ServerName::try_from(name.clone()).map_err(|_| {
                Trouble(format!("'{name}' can be the name of no certificate: give ApiTlsServerName"))
            })?;
            let stream = connecting.await?.into_inner();
            let shaken = shake_hands(TlsConnector::from(Arc::new(config)), server, stream).await;
            Ok(TokioIo::new(shaken.map_err(|error| explained(&error, &tls, &name))?))
        })
    }
}

async fn shake_hands(
    tls: TlsConnector,
    server: ServerName<'static>,
    stream: TcpStream,
) -> io::Result<Stream> {
    let mut stream = BufReader::new(tls.connect(server, stream).await?);
    match timeout(FIRST_WORD, stream.fill_buf()).await {
        Ok(Ok([])) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(Err(error)) => Err(error),
        // A controller that sends nothing may still listen.
        Ok(Ok(_)) | Err(_) => Ok(stream),
    }
}

/// Reads the files of a TLS configuration.
fn config(tls: &Tls) -> Result<ClientConfig, Trouble> {
    let unusable = |error: TlsError| Trouble(format!("no TLS: {error}"));
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_root_certificates(roots(ca(tls))?);
    let mut config = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (own, key) = (certificate(identity), Named { key: "ApiTlsKey", path: &identity.key });
            let private = PrivateKeyDer::from_pem_slice(key.read_secret()?.expose())
                .map_err(|_| key.trouble("no private key (PEM) in it"))?;
            builder.with_client_auth_cert(certificates(own)?, private).map_err(|error| match error {
                TlsError::InconsistentKeys(_) => key.trouble(format_args!("not the key of {own}")),
                error => own.trouble(format_args!("of no use together with {key}: {error}")),
            })?
        }
    };
    config.alpn_protocols.push(b"h2".to_vec());
    Ok(config)
}

fn ca(tls: &Tls) -> Named<'_> {
    Named { key: "ApiTlsCa", path: &tls.ca }
}

fn certificate(identity: &TlsIdentity) -> Named<'_> {
    Named { key: "ApiTlsCert", path: &identity.certificate }
}

fn roots(file: Named<'_>) -> Result<RootCertStore, Trouble> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| file.trouble(error))?;
    }
    Ok(roots)
}

fn certificates(file: Named<'_>) -> Result<Vec<CertificateDer<'static>>, Trouble> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&file.read()?).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or_else(|| file.trouble("no certificate (PEM) in it"))
}

/// Explains a failed connection to a controller that should have the name `name`, and says what to mend.
fn explained(error: &io::Error, tls: &Tls, name: &str) -> Trouble {
    let tls_error = error.get_ref().and_then(|error| error.downcast_ref::<TlsError>());
    Trouble(match tls_error {
        Some(TlsError::InvalidCertificate(why)) => theirs(why, tls, name),
        Some(TlsError::AlertReceived(alert)) => ours(*alert, tls),
        Some(TlsError::InvalidMessage(_)) => {
            "the controller speaks no TLS there: leave out ApiTlsCa, or mend ApiHost".to_owned()
        }
        Some(error) => format!("no TLS with the controller: {error}"),
        None => format!("no TLS with the controller: the connection broke ({error})"),
    })
}

/// Explains a fault of the controller's certificate.
fn theirs(why: &CertificateError, tls: &Tls, name: &str) -> String {
    use CertificateError as Why;
    match why {
        Why::Expired | Why::ExpiredContext { .. } => {
            "the controller's certificate has expired: have it renewed there".to_owned()
        }
        Why::NotValidYet | Why::NotValidYetContext { .. } => {
            "the controller's certificate is not valid yet: look at the clocks here and there".to_owned()
        }
        // A bad signature is that of another CA with this name, for example a CA that was made anew.
        Why::UnknownIssuer | Why::BadSignature => {
            format!("the controller's certificate is signed by no CA in {}", ca(tls))
        }
        Why::NotValidForName | Why::NotValidForNameContext { .. } => {
            let has = match why {
                Why::NotValidForNameContext { presented, .. } => format!(" but for {}", presented.join(", ")),
                _ => String::new(),
            };
            format!("the controller's certificate is not for {name}{has}: mend ApiTlsServerName or ApiHost")
        }
        other => format!("the controller's certificate is of no use: {other}"),
    }
}

/// Explains an alert of the controller about our side.
fn ours(alert: Alert, tls: &Tls) -> String {
    let refused =
        |identity| format!("the controller refuses the client certificate {}", certificate(identity));
    match (alert, &tls.identity) {
        (Alert::CertificateRequired, None) => {
            "the controller asks for a client certificate: give ApiTlsCert and ApiTlsKey".to_owned()
        }
        (Alert::CertificateExpired, Some(own)) => format!("{}: it has expired, renew it", refused(own)),
        (Alert::UnknownCA | Alert::DecryptError, Some(own)) => {
            format!("{}: it does not trust the CA that signed it", refused(own))
        }
        (
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateUnknown
            | Alert::AccessDenied,
            Some(own),
        ) => format!("{}: {alert:?}", refused(own)),
        (alert, _) => format!("the controller ended the TLS handshake: {alert:?}"),
    }
}
