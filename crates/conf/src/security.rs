//! The keys that say how a controller is spoken to. They name files, which are read when they are needed.

use std::path::PathBuf;

use vipu_types::{Access, Tls, TlsIdentity};

use crate::keys::{self, Key};
use crate::settings::Given;
use crate::value::{self, Value};

impl Given<'_> {
    /// TLS, if it is wanted.
    pub(crate) fn tls(&mut self) -> Option<Tls> {
        let over_tls = self.has(&keys::API_TLS_CA);
        let (has_cert, has_key) = (self.has(&keys::API_TLS_CERT), self.has(&keys::API_TLS_KEY));
        let ca = self.take(&keys::API_TLS_CA, value::path);
        let server_name = self.take(&keys::API_TLS_SERVER_NAME, |text| {
            needs(&keys::API_TLS_CA, over_tls).and_then(|()| value::name(text))
        });
        let certificate =
            self.take(&keys::API_TLS_CERT, |text| of_identity(text, over_tls, &keys::API_TLS_KEY, has_key));
        let key =
            self.take(&keys::API_TLS_KEY, |text| of_identity(text, over_tls, &keys::API_TLS_CERT, has_cert));
        let identity = certificate.zip(key).map(|(certificate, key)| TlsIdentity { certificate, key });
        Some(Tls { ca: ca?, server_name, identity })
    }

    /// The user to be, if any.
    pub(crate) fn access(&mut self) -> Option<Access> {
        let file = self.take(&keys::API_ACCESS_FILE, value::path);
        let user_id_metadata = self.take(&keys::API_USER_ID_METADATA, value::metadata);
        let access_key_metadata = self.take(&keys::API_ACCESS_KEY_METADATA, value::metadata);
        Some(Access {
            file: file?,
            user_id_metadata: user_id_metadata?,
            access_key_metadata: access_key_metadata?,
        })
    }
}

/// A value that means nothing without that of another key.
fn needs(other: &Key, given: bool) -> Value<()> {
    if given { Ok(()) } else { Err(format!("means nothing alone: give {} too", other.name)) }
}

/// One of the two files of a client certificate, which need each other.
fn of_identity(text: &str, over_tls: bool, other: &Key, given: bool) -> Value<PathBuf> {
    needs(&keys::API_TLS_CA, over_tls).and_then(|()| needs(other, given)).and_then(|()| value::path(text))
}
