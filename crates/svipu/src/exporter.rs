//! `svipu exporter`: serves the numbers of the document over HTTP.

use std::net::SocketAddr;

use vipu_status_reader::Source;

use crate::error::Failure;

/// Serves until the process ends. Returns only the reason why it cannot.
pub(crate) fn serve(listen: SocketAddr, source: Source) -> Failure {
    let place = crate::safe::cut(&source.to_string(), crate::safe::LINE);
    let ready = |address| eprintln!("svipu: serves {place} at http://{address}/metrics");
    match vipu_exporter::run(listen, source, ready) {
        Ok(never) => match never {},
        Err(why) => Failure::Listen(listen, why),
    }
}
